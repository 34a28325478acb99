"""The servers, programs and disk of a run, and the proxies that slow connections."""
