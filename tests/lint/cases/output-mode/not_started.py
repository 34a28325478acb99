def writer(stream):
    return stream.writeStream.outputMode("append").trigger(realTime="5 minutes")  # expect: output-mode
