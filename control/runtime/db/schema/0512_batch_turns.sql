-- Jobs that are called singly are taken in turn of their accounts.
CREATE INDEX IF NOT EXISTS batch_jobs_turns ON batch_jobs (provider, account_id, due_at_ms, id) WHERE state = 'queued';
