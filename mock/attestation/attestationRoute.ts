import type { TemplatedApp } from 'uWebSockets.js'
import { demoMachine } from './demoMachine.ts'
import type { TdxMachine, TdxState } from './tdxMachine.ts'

const NONCE = /^[0-9a-f]{64}$/

/** How the next evidence is; set by POST /_attestation. */
interface Answering {
  readonly state: TdxState
  /** Of the answer. */
  readonly status: number
}

const SOUND: Answering = { state: {}, status: 200 }

/** GET /v1/attestation/report?nonce=HEX, as providers of confidential inference serve it. */
export class MockAttestation {
  private machine: TdxMachine | undefined
  private answering = SOUND

  reset(): void {
    this.answering = SOUND
  }

  addRoutes(app: TemplatedApp): void {
    app.get('/v1/attestation/report', (res, req) => {
      const nonce = req.getQuery('nonce') ?? ''
      const { state, status } = this.answering
      const isFine = status === 200 && NONCE.test(nonce)
      if (!isFine) res.writeStatus(status === 200 ? '400 Bad Request' : String(status))
      // Most mocks never make a machine.
      this.machine ??= demoMachine()
      const body = isFine ? this.machine.evidence(nonce, state) : { error: { message: 'no evidence' } }
      res.writeHeader('content-type', 'application/json').end(JSON.stringify(body))
    })
    app.post('/_attestation', (res) => {
      const pieces: Buffer[] = []
      res.onAborted(() => undefined)
      res.onData((piece, isLast) => {
        pieces.push(Buffer.from(Buffer.from(piece)))
        if (!isLast) return
        this.answering = { ...SOUND, ...(JSON.parse(Buffer.concat(pieces).toString()) as Partial<Answering>) }
        res.cork(() => res.writeHeader('content-type', 'application/json').end('{}'))
      })
    })
  }
}
