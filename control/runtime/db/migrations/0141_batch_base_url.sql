-- Where the client reached the gateway when it submitted the job; '' for jobs that were submitted before this was kept.
ALTER TABLE batch_jobs ADD COLUMN base_url text NOT NULL DEFAULT '';
