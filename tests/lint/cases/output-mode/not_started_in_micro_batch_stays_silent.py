"""Works without real-time mode."""

def writer(stream):
    return stream.writeStream.outputMode("append").trigger(processingTime="1 second")
