-- Tables whose rows never change or go; tables of which some columns may change have triggers of their own beside them.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY '{activity,transfers,grants,usage_log_nodes,log_head_tiles,receipt_archives,price_sheets,catalog_records,
    price_promises,catalog_signers,signed_catalogs,attestation_reports,reserve_attestations,revenue_periods,reward_trees,
    reward_shares,lock_fills,lock_paybacks,provider_probes,provider_earnings,settlement_batches,referral_shares}'::text[]
  LOOP
    EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE OR DELETE OR TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
      name || '_append_only', name);
  END LOOP;
END
$$;
