-- Batch jobs. A job's row says everything about it; what happens to it is one UPDATE that names the state before.
-- Times are milliseconds since 1970, by the clock of control.

-- Many jobs that travel in one batch of a provider.
CREATE TABLE batch_groups (
  id             text PRIMARY KEY,
  provider       text NOT NULL,
  upstream_model text NOT NULL,
  state          text NOT NULL CHECK (state IN ('sending', 'sent', 'ended')),
  created_at_ms  bigint NOT NULL,
  -- That of the first of its jobs.
  deadline_ms    bigint NOT NULL,
  -- When it is looked at next, and until when somebody does.
  due_at_ms      bigint NOT NULL,
  leased_until_ms bigint NOT NULL DEFAULT 0,
  lease          text NOT NULL DEFAULT '',
  attempts       integer NOT NULL DEFAULT 0,
  input_file_id  text,
  -- The provider may have taken the batch: it is looked for before it is sent again.
  posted_at_ms   bigint,
  upstream_id    text,
  cancelled      boolean NOT NULL DEFAULT false,
  CHECK (state <> 'sent' OR upstream_id IS NOT NULL)
);
CREATE INDEX batch_groups_due ON batch_groups (due_at_ms) WHERE state <> 'ended';

CREATE TABLE batch_jobs (
  -- The request id; the job's public id has the same characters behind batch_.
  id             text PRIMARY KEY,
  account_id     text NOT NULL,
  key_id         text NOT NULL,
  -- opening: the hold is not handed over yet. queued, grouped, calling: on the way to a provider. ending: the outcome
  -- is decided and the hold is being ended by it. The rest is over.
  state          text NOT NULL CHECK (state IN ('opening', 'queued', 'grouped', 'calling', 'ending',
    'done', 'failed', 'expired')),
  owner          text NOT NULL,
  model          text NOT NULL,
  sheet_version  integer NOT NULL,
  coin_usd_units bigint NOT NULL CHECK (coin_usd_units > 0),
  -- A Rates message: what the job is charged by.
  rates          bytea NOT NULL,
  hold_units     bigint NOT NULL CHECK (hold_units >= 0),
  held_at_ms     bigint NOT NULL,
  started_at_ms  bigint NOT NULL,
  created_at_ms  bigint NOT NULL,
  deadline_ms    bigint NOT NULL,
  approval_id    text NOT NULL,
  webhook_url    text NOT NULL,
  -- Who may serve it, in order: [{provider, model, limit}]; and whose turn it is.
  routes         jsonb NOT NULL,
  route          integer NOT NULL DEFAULT 0,
  provider       text NOT NULL,
  upstream_model text NOT NULL,
  max_tokens     bigint NOT NULL,
  -- Bounds of a believable usage, and what an unreported one is estimated from.
  context        bigint NOT NULL,
  max_output     bigint NOT NULL,
  prompt_bytes   bigint NOT NULL,
  prompt_extra_tokens bigint NOT NULL,
  -- The request without model and limit; erased once the job is over.
  body           text,
  body_bytes     integer NOT NULL,
  group_id       text REFERENCES batch_groups (id),
  attempts       integer NOT NULL DEFAULT 0,
  due_at_ms      bigint NOT NULL,
  call_by_ms     bigint,
  outcome        text CHECK (outcome IN ('done', 'failed', 'expired')),
  error_message  text NOT NULL DEFAULT '',
  -- A Settlement message, and what the hold is to be ended with.
  settlement     bytea,
  charge_units   bigint CHECK (charge_units BETWEEN 0 AND hold_units),
  -- The completion without its receipt; erased some days after the end.
  result         text,
  receipt        text,
  ended_at_ms    bigint,
  -- Where the client reached the gateway when it submitted the job; '' for jobs that were submitted before this was kept.
  base_url text NOT NULL DEFAULT '',
  CHECK ((state IN ('done', 'failed', 'expired')) = (ended_at_ms IS NOT NULL)),
  CHECK (ended_at_ms IS NULL OR state = outcome),
  CHECK ((outcome IS NOT NULL) = (settlement IS NOT NULL)),
  CHECK (outcome = 'done' OR coalesce(charge_units, 0) = 0),
  CHECK (state <> 'grouped' OR group_id IS NOT NULL),
  CHECK (state <> 'calling' OR call_by_ms IS NOT NULL)
);
CREATE INDEX batch_jobs_queued ON batch_jobs (provider, upstream_model, due_at_ms) WHERE state = 'queued';
CREATE INDEX batch_jobs_group ON batch_jobs (group_id) WHERE state = 'grouped';
CREATE INDEX batch_jobs_open ON batch_jobs (state, deadline_ms) WHERE ended_at_ms IS NULL;
CREATE INDEX batch_jobs_key ON batch_jobs (key_id) WHERE ended_at_ms IS NULL;
CREATE INDEX batch_jobs_account ON batch_jobs (account_id, id);
CREATE INDEX batch_jobs_results ON batch_jobs (ended_at_ms) WHERE result IS NOT NULL;

-- What signs the webhooks of the jobs of a key.
CREATE TABLE webhook_secrets (
  key_id text PRIMARY KEY,
  secret text NOT NULL
);

CREATE TABLE webhooks (
  id            text PRIMARY KEY,
  job_id        text NOT NULL UNIQUE REFERENCES batch_jobs (id),
  key_id        text NOT NULL,
  url           text NOT NULL,
  -- The same for every attempt.
  body          text NOT NULL,
  state         text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given_up')),
  attempts      integer NOT NULL DEFAULT 0,
  created_at_ms bigint NOT NULL,
  due_at_ms     bigint NOT NULL,
  ended_at_ms   bigint
);
CREATE INDEX webhooks_due ON webhooks (due_at_ms) WHERE state = 'waiting';

-- The delivery log.
CREATE TABLE webhook_attempts (
  webhook_id text NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  attempt    integer NOT NULL,
  at_ms      bigint NOT NULL,
  took_ms    integer NOT NULL,
  -- The receiver's status; null where there was no answer.
  status     integer,
  fault      text NOT NULL,
  PRIMARY KEY (webhook_id, attempt)
);
