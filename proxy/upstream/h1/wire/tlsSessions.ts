/** The bounds of the cache of TLS sessions. */
export interface SessionBounds {
  readonly tlsSessionsMax: number
  readonly tlsSessionBytesMax: number
  readonly tlsSessionAgeMs: number
}

/** A TLS session that another connection to the same address may resume. */
export interface KeptSession {
  readonly session: Buffer
  /** Until when the verification of the peer at the start of the session counts. */
  readonly untilMs: number
}

/**
 * Keeps the latest TLS session of each address, a host with its port: a connection that resumes it needs no certificate, no
 * signature and no check of either. Because a certificate can expire or be revoked, it has to be shown again from time to
 * time, however many connections have resumed each other's sessions in between. Times are of the wall clock.
 */
export class TlsSessions {
  private readonly bounds: SessionBounds
  private readonly kept = new Map<string, KeptSession>()

  constructor(bounds: SessionBounds) {
    this.bounds = bounds
  }

  /** The session to resume with an address. */
  take(address: string, nowMs: number): KeptSession | undefined {
    const kept = this.kept.get(address)
    if (kept === undefined || kept.untilMs > nowMs) return kept
    this.kept.delete(address)
    return undefined
  }

  /** Until when a proof counts that was given now by a certificate that ends then. */
  provenUntilMs(nowMs: number, certificateEndMs: number): number {
    return Math.min(nowMs + this.bounds.tlsSessionAgeMs, certificateEndMs)
  }

  /** Keeps the latest session of an address; above the bound, the oldest one is evicted. */
  keep(address: string, session: Buffer, untilMs: number): void {
    if (session.length > this.bounds.tlsSessionBytesMax || Number.isNaN(untilMs)) return
    this.kept.delete(address)
    this.kept.set(address, { session, untilMs })
    const [oldest] = this.kept.keys()
    if (oldest !== undefined && this.kept.size > this.bounds.tlsSessionsMax) this.kept.delete(oldest)
  }

  /** No connection could be made with this session. */
  drop(address: string, session: KeptSession): void {
    if (this.kept.get(address) === session) this.kept.delete(address)
  }
}
