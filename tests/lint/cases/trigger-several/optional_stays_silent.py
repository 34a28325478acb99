def start(writer, real_time=None, processing_time=None):
    return writer.outputMode("update").trigger(realTime=real_time, processingTime=processing_time).start()
