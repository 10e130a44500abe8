-- The book: double entry, append only. Amounts are units of 1e-9 USD below 2^53.
-- Identifiers are compared byte by byte (collation "C"): they are ASCII and sort by time.

CREATE TABLE ledger_accounts (
  id text COLLATE "C" PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('coin', 'grant', 'system')),
  -- The customer account that a coin or grant account belongs to.
  owner text COLLATE "C",
  balance bigint NOT NULL DEFAULT 0,
  may_go_negative boolean NOT NULL DEFAULT false,
  CONSTRAINT balance_not_negative CHECK (may_go_negative OR balance >= 0),
  -- What a customer owns has to be exact in JavaScript and Lua; sums over all customers are only ever added up in SQL.
  CONSTRAINT balance_exact CHECK (kind = 'system' OR balance BETWEEN -9007199254740991 AND 9007199254740991)
) WITH (fillfactor = 70);

CREATE INDEX ledger_accounts_owner ON ledger_accounts (owner) WHERE owner IS NOT NULL;

INSERT INTO ledger_accounts (id, kind, may_go_negative) VALUES
  ('revenue', 'system', true),
  ('payments_in', 'system', true),
  ('house', 'system', true),
  ('provider_cost', 'system', true),
  ('escrow', 'system', false);

-- One row is one debit and one credit of the same amount, so that no posting can be out of balance.
CREATE TABLE transfers (
  id bigint GENERATED ALWAYS AS IDENTITY,
  ref text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  debit text COLLATE "C" NOT NULL,
  credit text COLLATE "C" NOT NULL,
  units bigint NOT NULL CHECK (units > 0),
  at timestamptz NOT NULL DEFAULT now(),
  CHECK (debit <> credit),
  -- The same business event booked twice is refused here. `ref` leads, because it sorts by time for most kinds.
  PRIMARY KEY (ref, kind, debit, credit)
);

CREATE VIEW postings AS
  SELECT id AS transfer_id, ref, kind, debit AS account, -units AS units, at FROM transfers
  UNION ALL
  SELECT id, ref, kind, credit, units, at FROM transfers;

-- Balances follow the transfers inside the database, so that no code path can post without moving them.
CREATE FUNCTION move_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  touched text[];
  moved integer;
BEGIN
  -- Always locked in the same order: two postings never wait for each other in a circle.
  SELECT array_agg(id ORDER BY id) INTO touched
    FROM (SELECT debit AS id FROM new_transfers UNION SELECT credit FROM new_transfers) AS both_sides;
  PERFORM 1 FROM ledger_accounts WHERE id = ANY (touched) ORDER BY id FOR NO KEY UPDATE;
  UPDATE ledger_accounts AS a SET balance = a.balance + d.delta
    FROM (
      SELECT side.id, sum(side.units)::bigint AS delta
        FROM (
          SELECT debit AS id, -units AS units FROM new_transfers
          UNION ALL
          SELECT credit, units FROM new_transfers
        ) AS side
        GROUP BY side.id
    ) AS d
    WHERE a.id = d.id;
  GET DIAGNOSTICS moved = ROW_COUNT;
  IF moved <> coalesce(cardinality(touched), 0) THEN
    RAISE EXCEPTION 'a transfer names an account that is not in ledger_accounts'
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER transfers_move_balances AFTER INSERT ON transfers
  REFERENCING NEW TABLE AS new_transfers FOR EACH STATEMENT EXECUTE FUNCTION move_balances();

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfers
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The identity of an account is settled when it is opened, and its balance only follows the transfers.
CREATE FUNCTION guard_ledger_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.balance <> 0 THEN
      RAISE EXCEPTION 'a ledger account opens with a balance of zero' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  ELSIF pg_trigger_depth() < 2 THEN
    RAISE EXCEPTION 'balances move by transfers alone' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER ledger_accounts_opened BEFORE INSERT ON ledger_accounts
  FOR EACH ROW EXECUTE FUNCTION guard_ledger_account();
CREATE TRIGGER ledger_accounts_moved BEFORE UPDATE ON ledger_accounts
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ledger_account();
CREATE TRIGGER ledger_accounts_kept BEFORE DELETE OR TRUNCATE ON ledger_accounts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Free credits, each with its own ledger account `grant:ID`, its source and its end.
CREATE TABLE grants (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  units bigint NOT NULL CHECK (units > 0),
  expires_at_ms bigint NOT NULL,
  -- Names the business event, so that it grants once to an account.
  ref text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (account_id, ref)
);
CREATE TRIGGER grants_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON grants
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- How many book events of an account went to the admission state.
CREATE TABLE admission_accounts (
  account_id text COLLATE "C" PRIMARY KEY,
  shard smallint NOT NULL,
  seq bigint NOT NULL
);
CREATE INDEX admission_accounts_shard ON admission_accounts (shard, account_id);

-- Outbox: written with the postings, applied to Redis in the order of seq, then deleted.
CREATE TABLE admission_events (
  account_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  coin_delta bigint NOT NULL DEFAULT 0,
  grant_id text COLLATE "C",
  grant_expires_at_ms bigint,
  grant_units bigint,
  PRIMARY KEY (account_id, seq)
);
