import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { BookLimits } from '../book/limits.ts'

/** The limits of the catalog and of the state of the service. */
export const CATALOG_LIMITS = {
  /** Interval of the checks of the catalog's file and of the price sheet in force, in milliseconds. */
  catalogCheckMs: 5_000,
  /** How long a signed catalog is valid, in milliseconds. */
  catalogValidMs: 2_592_000_000,
  /** A signed catalog that is valid for no longer than this is signed anew, in milliseconds. */
  catalogRenewMs: 1_296_000_000,
  /** Price sheets in no signed catalog yet that the next one binds. */
  catalogEarlierSheetsMax: 10_000,
  /** Keys that sign catalogs one after the other. */
  catalogSignersMax: 1_000,
  /** Interval of the readings of the providers' price lists, in milliseconds. */
  observeMs: 3_600_000,
  /** The time that a price list has to arrive, in milliseconds. */
  priceListTimeoutMs: 10_000,
  /** A price list, in bytes. */
  priceListBytesMax: 8_388_608,
  /** The timeout of a call of a provider that an operator tries, in milliseconds. */
  trialTimeoutMs: 30_000,
  /** The answer to such a call, in bytes. */
  trialAnswerBytesMax: 8_388_608,
  /** A file of another gateway that a catalog is made from, and a file of prices for it, in bytes. */
  importedFileBytesMax: 33_554_432,
  /** Models of a price list that are kept. */
  observedModelsMax: 2_000,
  /** Observed prices that are kept; those that were seen last longest ago go first. */
  observationsMax: 100_000,
  /** Routes that are switched off concurrently. */
  routeSwitchesMax: 10_000,
  /** Interval of the checks whether a provider has to prove its hardware again, in milliseconds. */
  evidenceCheckMs: 5_000,
  /** The longest interval between proofs of a provider's hardware, in milliseconds. */
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
  /** Interval of the reads of the incidents, in milliseconds. */
  statusCheckMs: 5_000,
  /** Interval at which the observed states are written, in milliseconds. */
  statusWriteMs: 60_000,
  /** A state that lasted less than this in a day is not shown, in milliseconds. */
  statusStateMinMs: 30_000,
  /** Incidents that are open concurrently. */
  incidentsOpenMax: 100,
  /** Incidents that are shown. */
  incidentsShownMax: 500,
} as const

export type CatalogLimits = LimitsOf<typeof CATALOG_LIMITS> & BookLimits
