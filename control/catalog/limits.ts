/** The limits of the catalog and of the state of the service. */
export const CATALOG_LIMITS = {
  /** The time from one look at the catalog's file, and at the price sheet in force, to the next, in milliseconds. */
  catalogCheckMs: 5_000,
  /** How long a signed catalog is valid, in milliseconds. */
  catalogValidMs: 2_592_000_000,
  /** A signed catalog that is valid for no longer than this is signed anew, in milliseconds. */
  catalogRenewMs: 1_296_000_000,
  /** Price sheets without a signed catalog of their own that the next one binds. */
  catalogEarlierSheetsMax: 10_000,
  /** Keys that sign catalogs one after the other. */
  catalogSignersMax: 1_000,
  /** The time from one reading of the providers' price lists to the next, in milliseconds. */
  observeMs: 3_600_000,
  /** The time that a price list has to arrive, in milliseconds. */
  priceListTimeoutMs: 10_000,
  /** A price list, in bytes. */
  priceListBytesMax: 8_388_608,
  /** Models of a price list that are kept. */
  observedModelsMax: 2_000,
  /** Observed prices that are kept; those that were seen last longest ago go first. */
  observationsMax: 100_000,
  /** Routes that are switched off at once. */
  routeSwitchesMax: 10_000,
  /** The time from one look whether a provider has to prove its hardware again to the next, in milliseconds. */
  evidenceCheckMs: 5_000,
  /** The longest time from one proof of a provider's hardware to the next, in milliseconds. */
  attestationPollMs: 600_000,
  /** The time to the next try after a proof that failed, in milliseconds. */
  attestationRetryMs: 60_000,
  /** The time that evidence has to arrive, in milliseconds. */
  attestationTimeoutMs: 15_000,
  /** The evidence of a provider, in bytes. */
  attestationBytesMax: 1_048_576,
  /** Evidence that was refused and is kept all the same, in bytes. */
  attestationRefusedBytesMax: 65_536,
  /** How long reports without a proof are kept, in milliseconds; the last one before a proof is kept for good. */
  attestationRefusedKeptMs: 2_592_000_000,
  /** The time from one look at the incidents to the next, in milliseconds. */
  statusCheckMs: 5_000,
  /** The time from one writing of the observed states to the next, in milliseconds. */
  statusWriteMs: 60_000,
  /** A state that lasted less than this in a day is not shown, in milliseconds. */
  statusStateMinMs: 30_000,
  /** Incidents that are open at once. */
  incidentsOpenMax: 100,
  /** Incidents that are shown. */
  incidentsShownMax: 500,
} as const
