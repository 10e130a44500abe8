import type { LimitsOf } from '../../contract/limits/limits.ts'

/** The limits of `sluice load`. */
export const LOAD_LIMITS = {
  /** Connections that a load test has open. */
  loadConnectionsMax: 20_000,
  /** Requests of one load test. */
  loadRequestsMax: 10_000_000,
  /** Requests of a load test that nobody confirmed. */
  loadUnconfirmedMax: 10_000,
  /** How long a load test may begin requests. */
  loadSecondsMax: 86_400,
  /** Requests a second that a load test may be asked for. */
  loadRateMax: 100_000,
  /** API keys of a file. */
  loadKeysMax: 100_000,
  /** Kinds of requests of a mix. */
  loadKindsMax: 1_000,
  /** Receipts of an export that are replayed. */
  loadReplayReceiptsMax: 50_000_000,
  /** Kinds of requests that are counted in an export. */
  loadReplayGroupsMax: 100_000,
  /** Line of an export. */
  loadReplayLineChars: 262_144,
  /** Size of a prompt that is made up. */
  loadPromptTokensMax: 1_000_000,
  /** Largest weight of a kind of requests. */
  loadWeightMax: 1_000_000,
  /** Requests that are kept ready as bytes. */
  loadReadyRequestsMax: 1_024,
  /** Body of an answer that is not streamed, or one line of a stream. */
  loadAnswerBytes: 16_777_216,
  /** Timeout of a request. */
  loadTimeoutMs: 120_000,
  /** An idle connection is opened anew after this time, before the server closes it. */
  loadIdleMs: 4_000,
  /** Interval at which a load test looks for requests that are due. */
  loadTickMs: 1,
  /** How long requests that are due already may still begin after the end of a schedule. */
  loadDrainMs: 10_000,
  /** Pause within a stream that counts as a stall. */
  loadStallMs: 2_000,
  /** Numbers of frames that may be missing in a numbered stream before it counts as not numbered. */
  loadMissingFramesMax: 10_000,
  /** Error codes that are counted apart. */
  loadErrorCodesMax: 64,
  /** Answers with faults that a report shows of each kind. */
  loadExamplesMax: 3,
  /** Answers among which errors of the server are a storm. */
  loadStormWindow: 50,
  /** Share of them that is a storm. */
  loadStormPercent: 50,
  /** Receipts of a sample that is compared with the book. */
  loadBookSampleMax: 100,
  /** How long a receipt may take until it is in the book. */
  loadBookWaitMs: 15_000,
  /** Interval of the reads of such a receipt. */
  loadBookPollMs: 200,
  /** Interval of the lines of progress. */
  loadProgressMs: 1_000,
  /** Points of a plot over time. */
  loadSeriesMax: 600,
  /** How much each step of a climb is above the last one. */
  loadClimbPercent: 25,
  /** Steps of a climb. */
  loadClimbStepsMax: 100,
  /** Percent of the p99 of a climb's first step from which the p99 bends. */
  loadBendPercent: 200,
  /** How much higher than that of the first step a p99 has to be in any case before it bends. */
  loadBendMs: 50,
  /** Errors and cut streams of a step from which a climb ends. */
  loadBendErrorsPercent: 1,
  /** Turns that each of two gateways gets. */
  loadTurns: 5,
} as const

export type LoadLimits = LimitsOf<typeof LOAD_LIMITS>
