-- What the operator says of the service. An incident is opened and closed once; nothing else of it ever changes.
CREATE TABLE incidents (
  id text COLLATE "C" PRIMARY KEY,
  title text NOT NULL CHECK (title <> ''),
  impact text NOT NULL CHECK (impact IN ('maintenance', 'minor', 'major', 'critical')),
  -- The models that it is about; none for the whole service.
  models text[] NOT NULL,
  note text NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz,
  -- What is said of its end.
  resolution text NOT NULL DEFAULT '',
  CHECK (closed_at >= opened_at)
);
CREATE INDEX incidents_open ON incidents (id) WHERE closed_at IS NULL;
CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL;
CREATE TRIGGER incidents_no_delete BEFORE DELETE OR TRUNCATE ON incidents
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER incidents_closed_once BEFORE UPDATE ON incidents
  FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL OR (OLD.id, OLD.title, OLD.impact, OLD.models, OLD.note, OLD.opened_at)
    IS DISTINCT FROM (NEW.id, NEW.title, NEW.impact, NEW.models, NEW.note, NEW.opened_at))
  EXECUTE FUNCTION refuse_change();
