-- How long the processes of the proxy saw the service in each state, by day; of several processes the sum.
CREATE TABLE observed_days (
  -- Days since 1970, UTC.
  day integer NOT NULL,
  state text NOT NULL,
  ms bigint NOT NULL CHECK (ms >= 0),
  PRIMARY KEY (day, state)
);
