def start(writer, interval):
    return writer.outputMode("update").trigger(realTime=interval).start()
