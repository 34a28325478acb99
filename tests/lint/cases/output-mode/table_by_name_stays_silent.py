MODES = {"fast": "update", "slow": "append"}
TRIGGERS = {"fast": {"realTime": "5 minutes"}, "slow": {"processingTime": "1 minute"}}


def start(stream, name):
    return stream.writeStream.format("console").outputMode(MODES[name]).trigger(**TRIGGERS[name]).start()
