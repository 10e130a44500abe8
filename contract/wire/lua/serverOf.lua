-- Names the server that has a key, so that a restart and a failover are noticed. KEYS: any.
-- Returns "run id/replication id": the first changes with every start of the server, the second when it is made the master.
local runId = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local replicationId = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
return (runId or '') .. '/' .. (replicationId or '')
