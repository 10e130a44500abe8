-- Routes that the operator has disabled by hand, whatever the catalog says. Who did it when is in the audit trail.
CREATE TABLE route_switches (
  -- provider/model as the provider names it, or provider/* for all of a provider.
  route text COLLATE "C" PRIMARY KEY,
  reason text NOT NULL,
  disabled_at timestamptz NOT NULL DEFAULT now()
);
