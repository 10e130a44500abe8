/** The limits of the public figures. */
export const STATISTICS_LIMITS = {
  /** How long a leaderboard that was read is shown, in milliseconds. */
  leaderboardKeptMs: 10_000,
  /** Interval of the checks whether a basket of the price index is to be made, in milliseconds. */
  indexBasketMs: 60_000,
  /** Days of the base period of the price index. */
  indexBaseDays: 28,
  /** Models of a basket of the price index, those with the most tokens. */
  indexModelsMax: 100,
  /** Price sheets that are read together for the price index. */
  indexSheetsPage: 20,
} as const
