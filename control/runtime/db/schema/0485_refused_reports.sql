-- Evidence that proved nothing need not be kept for good; a verified report is what receipts name.
CREATE OR REPLACE FUNCTION refuse_verified_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.verdict = 'verified' THEN
    RAISE EXCEPTION 'the verified report % is kept', OLD.id;
  END IF;
  RETURN OLD;
END
$$;
DROP TRIGGER IF EXISTS attestation_reports_append_only ON attestation_reports;
CREATE OR REPLACE TRIGGER attestation_reports_append_only BEFORE UPDATE OR TRUNCATE ON attestation_reports
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER attestation_reports_kept BEFORE DELETE ON attestation_reports
  FOR EACH ROW EXECUTE FUNCTION refuse_verified_report();
