import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { JsonLimits } from '../json/limits.ts'

/** The limits of reaching providers. */
export const UPSTREAM_LIMITS = {
  /** Connections to one provider from a process. */
  connectionsPerProviderMax: 4_096,
  /** After how long without use a connection is closed, in milliseconds. */
  connectionIdleMs: 25_000,
  /** Addresses of which a session of TLS is kept for the next connection. */
  tlsSessionsMax: 512,
  /** One of these sessions, in bytes. */
  tlsSessionBytesMax: 16_384,
  /**
   * After how long a provider has to show its certificate again, however often its TLS sessions were resumed, in
   * milliseconds.
   */
  tlsSessionAgeMs: 3_600_000,
  /** Routes that are tried for one request. */
  routeAttemptsMax: 4,
  /** How long the body of an error answer may take after its head, in milliseconds; the status counts by itself then. */
  errorBodyMs: 5_000,
  /** Memory of all such answers of a process until they are read, in bytes. */
  answerBytesOpenMax: 268_435_456,
  /** The part of them that comes from registered providers, in bytes: they cannot take the memory of others' answers. */
  registeredAnswerBytesOpenMax: 67_108_864,
  /** The longest Retry-After of a provider that is passed on, in seconds. */
  retryAfterSecondsMax: 60,
  /** Consecutive failures after which the circuit breaker of a route opens. */
  breakerFailures: 5,
  /** How long the breaker stays open before one request tries the route, in milliseconds. */
  breakerOpenMs: 10_000,
  /**
   * How long a route rests whose account at the provider is empty, revoked or suspended, in milliseconds: somebody has to act
   * there.
   */
  accountFaultCoolMs: 300_000,
  /** Keys of a provider that are asked for one request after another one was refused. */
  keyAttemptsMax: 8,
  /** How long a key rests that its provider limits without saying for how long, in milliseconds; doubled each time. */
  keyRestMs: 1_000,
  /** The longest such rest, in milliseconds. */
  keyRestLongestMs: 60_000,
  /** How long a key that was out is tried by one request alone, in milliseconds. */
  keyTrialMs: 10_000,
  /** Pools of connections of the transport over undici: certificates that change leave earlier ones behind. */
  undiciPoolsMax: 1_024,
  /** How long the time to the first output of a route counts that nobody has asked since, in milliseconds. */
  firstTokenKeptMs: 300_000,
  /** Routes whose time to the first output a process keeps. */
  firstTokenRoutesMax: 1_000,
  /** Interval of the connections that probe a provider, in milliseconds. */
  routeProbeMs: 30_000,
  /** Interval of the probes while the provider cannot be reached, in milliseconds; below breakerOpenMs. */
  routeProbeRetryMs: 5_000,
  /** How long such a connection may take, in milliseconds. */
  routeProbeTimeoutMs: 4_000,
  /** Interval at which the proxy processes exchange their views of routes, in milliseconds. */
  routeViewMs: 2_000,
  /** How long the view of a process counts, in milliseconds. */
  routeViewKeptMs: 10_000,
  /** Routes of each kind in such a view. */
  routeViewRoutesMax: 1_000,
} as const

export type UpstreamLimits = LimitsOf<typeof UPSTREAM_LIMITS> & JsonLimits
