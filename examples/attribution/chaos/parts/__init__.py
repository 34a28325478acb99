"""The servers, proxies, programs and the disk of a run, each of which a fault can hit."""
