"""The servers, programs and the disk of a run, and the proxies through which a fault slows connections."""
