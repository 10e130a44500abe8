-- What the compute price index is reckoned over. A basket never changes; another one has the next number.
CREATE TABLE index_baskets (
  id integer PRIMARY KEY CHECK (id > 0),
  -- By the tokens of the base period, or the same for every model, as nothing is known of it yet.
  weights text NOT NULL CHECK (weights IN ('tokens', 'equal')) UNIQUE,
  -- Days since 1970, UTC; both are part of the base period, and the prices at the end of the last one are its prices.
  base_from integer NOT NULL,
  base_to integer NOT NULL CHECK (base_to >= base_from),
  -- JSON: model and tokens by class.
  items text NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now()
);
