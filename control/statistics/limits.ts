/** The limits of the public figures. */
export const STATISTICS_LIMITS = {
  /** How long a leaderboard that was read is shown, in milliseconds. */
  leaderboardKeptMs: 10_000,
  /** Models in the basket of the price index, the first by name. */
  indexModelsMax: 100,
  /** Price sheets that are read together for the price index. */
  indexSheetsPage: 20,
} as const
