-- The server that runs this, as "run id/replication id": the first changes with every start of the server, the second when
-- it is made the master.
local function serverName()
  local runId = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  local replicationId = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  return (runId or '') .. '/' .. (replicationId or '')
end
