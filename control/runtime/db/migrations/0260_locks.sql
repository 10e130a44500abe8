-- Compute locks: a price fixed for a block of one model for a month. A holding is counted in units at the locked price of its
-- series: one micro-token (one token of the model) is locked_price_units / 1e6 units, which is an integer.
ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_kind_check;
ALTER TABLE ledger_accounts
  ADD CONSTRAINT ledger_accounts_kind_check CHECK (kind IN ('coin', 'grant', 'payer_credit', 'lock', 'system'));

CREATE TABLE lock_series (
  id text COLLATE "C" PRIMARY KEY,
  model text NOT NULL,
  -- YYYY-MM, UTC.
  month text COLLATE "C" NOT NULL CHECK (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  -- The first instant of the next month, milliseconds since 1970.
  ends_at_ms bigint NOT NULL,
  -- The provider of the catalog that serves what burns tokens.
  provider text NOT NULL,
  -- Units per whole token (a million tokens of the model).
  locked_price_units bigint NOT NULL CHECK (locked_price_units > 0 AND locked_price_units % 1000000 = 0),
  -- Prices of the token classes per million tokens, in the form of a price sheet.
  price jsonb NOT NULL,
  -- Tokens in integers of 1e-6 whole tokens.
  supply_micros bigint NOT NULL CHECK (supply_micros > 0),
  -- Of what takers trade, in millionths.
  taker_fee_ppm integer NOT NULL CHECK (taker_fee_ppm BETWEEN 0 AND 100000),
  -- Ended: nothing is traded or served any more. Closed: nothing of it is left.
  state text NOT NULL CHECK (state IN ('open', 'ended', 'closed')),
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (supply_micros::numeric * (locked_price_units / 1000000) <= 9007199254740991)
);
CREATE INDEX lock_series_living ON lock_series (ends_at_ms) WHERE state <> 'closed';
CREATE INDEX lock_series_model ON lock_series (model, month);

CREATE TABLE lock_orders (
  id text COLLATE "C" PRIMARY KEY,
  -- Time priority: drawn while the row of the series is locked, so in the order of booking.
  place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  -- 'operator' for what the gateway itself offers.
  account_id text COLLATE "C" NOT NULL,
  side text NOT NULL CHECK (side IN ('buy', 'sell')),
  type text NOT NULL CHECK (type IN ('market', 'limit')),
  -- Nanos of coin per whole token; null for a market order.
  price_nanos bigint CHECK (price_nanos > 0),
  token_micros bigint NOT NULL CHECK (token_micros > 0),
  filled_micros bigint NOT NULL DEFAULT 0,
  status text NOT NULL CHECK (status IN ('open', 'filled', 'cancelled', 'expired')),
  -- What is in escrow for the part that is not filled: nanos of coin of an open bid, micro-tokens of an open ask.
  escrow_nanos bigint NOT NULL DEFAULT 0 CHECK (escrow_nanos >= 0),
  escrow_micros bigint NOT NULL DEFAULT 0 CHECK (escrow_micros >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  CHECK ((type = 'limit') = (price_nanos IS NOT NULL)),
  CHECK (filled_micros BETWEEN 0 AND token_micros),
  CHECK ((status = 'open') = (ended_at IS NULL)),
  CHECK (status = 'open' OR (escrow_nanos = 0 AND escrow_micros = 0)),
  CHECK (type = 'limit' OR status <> 'open')
);
CREATE INDEX lock_orders_bids ON lock_orders (series_id, price_nanos DESC, place) WHERE status = 'open' AND side = 'buy';
CREATE INDEX lock_orders_asks ON lock_orders (series_id, price_nanos, place) WHERE status = 'open' AND side = 'sell';
CREATE INDEX lock_orders_account ON lock_orders (account_id, id);

-- In the order of booking.
CREATE TABLE lock_fills (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  maker_order text COLLATE "C" NOT NULL REFERENCES lock_orders (id),
  taker_order text COLLATE "C" NOT NULL REFERENCES lock_orders (id),
  price_nanos bigint NOT NULL CHECK (price_nanos > 0),
  token_micros bigint NOT NULL CHECK (token_micros > 0),
  -- Nanos of coin for the tokens, and the taker's fee.
  cost_nanos bigint NOT NULL CHECK (cost_nanos > 0),
  fee_nanos bigint NOT NULL CHECK (fee_nanos >= 0),
  at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (taker_order, maker_order)
);
CREATE INDEX lock_fills_maker ON lock_fills (maker_order);
CREATE INDEX lock_fills_series ON lock_fills (series_id, id);
CREATE TRIGGER lock_fills_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON lock_fills
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What buying was quoted at.
CREATE TABLE lock_quotes (
  id text COLLATE "C" PRIMARY KEY,
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  account_id text COLLATE "C" NOT NULL,
  token_micros bigint NOT NULL CHECK (token_micros > 0),
  cost_nanos bigint NOT NULL CHECK (cost_nanos > 0),
  fee_nanos bigint NOT NULL CHECK (fee_nanos >= 0),
  valid_until timestamptz NOT NULL
);
CREATE INDEX lock_quotes_ended ON lock_quotes (valid_until);

-- Who has held tokens of a series, in the ledger account `lock:SERIES:ACCOUNT`. Admission may list it until it is dropped,
-- which is after the end of the series.
CREATE TABLE lock_holdings (
  series_id text COLLATE "C" NOT NULL REFERENCES lock_series (id),
  account_id text COLLATE "C" NOT NULL,
  is_dropped boolean NOT NULL DEFAULT false,
  PRIMARY KEY (series_id, account_id)
);
CREATE INDEX lock_holdings_account ON lock_holdings (account_id, series_id);
CREATE INDEX lock_holdings_listed ON lock_holdings (series_id, account_id) WHERE NOT is_dropped;

-- Coin of open bids.
INSERT INTO ledger_accounts (id, kind, currency) VALUES ('escrow_locks', 'system', 'coin');
