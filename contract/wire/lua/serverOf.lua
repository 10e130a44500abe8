-- Names the server that has a key, so that a restart and a failover are noticed. KEYS: any. Returns its name.
return serverName()
