/** The limits of the catalog and of the state of the service. */
export const CATALOG_LIMITS = {
  /** The time from one look at the catalog's file, and at the price sheet in force, to the next, in milliseconds. */
  catalogCheckMs: 5_000,
  /** Routes that are switched off at once. */
  routeSwitchesMax: 10_000,
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
