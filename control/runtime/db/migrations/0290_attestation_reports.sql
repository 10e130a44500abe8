-- What providers answered who were asked to prove their hardware, each answer with what was made of it.
CREATE TABLE attestation_reports (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^att_[0-9A-Z]{26}$'),
  provider text COLLATE "C" NOT NULL,
  -- The policy of the catalog that it was verified against, as JSON, and its SHA-256 in hex.
  policy text NOT NULL,
  policy_sha256 text COLLATE "C" NOT NULL CHECK (policy_sha256 ~ '^[0-9a-f]{64}$'),
  -- What the provider had to answer, 32 bytes in hex.
  nonce text COLLATE "C" NOT NULL CHECK (nonce ~ '^[0-9a-f]{64}$'),
  -- verified: it proves what the policy asks for. refused: it does not. unreachable: there was no answer.
  verdict text COLLATE "C" NOT NULL CHECK (verdict IN ('verified', 'refused', 'unreachable')),
  -- Why not: a word, and a sentence for people. Both empty for verified.
  fault text COLLATE "C" NOT NULL CHECK ((fault = '') = (verdict = 'verified')),
  reason text NOT NULL,
  -- JSON: registers and what is in them. Null unless verified.
  measurements text CHECK ((measurements IS NOT NULL) = (verdict = 'verified')),
  report_data text COLLATE "C" NOT NULL DEFAULT '',
  tcb text NOT NULL DEFAULT '',
  fetched_at timestamptz NOT NULL,
  valid_until timestamptz NOT NULL CHECK (valid_until >= fetched_at),
  -- The answer byte for byte; empty where there was none.
  evidence bytea NOT NULL,
  evidence_sha256 text COLLATE "C" NOT NULL CHECK (evidence_sha256 ~ '^[0-9a-f]{64}$')
);
CREATE INDEX attestation_reports_provider ON attestation_reports (provider, id);
CREATE TRIGGER attestation_reports_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON attestation_reports
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- The report that a request of the private tier was served by; '' for all else, and in receipts from before.
ALTER TABLE receipts ADD COLUMN attestation text COLLATE "C" NOT NULL DEFAULT '';
