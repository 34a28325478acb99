"""Match each ad request with its acknowledgements in one stateful processor, in Scala and in Python."""
