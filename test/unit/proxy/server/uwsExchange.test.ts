// Goal: every byte of an answer reaches its client, whatever its socket takes of a write. Method: a model of the HTTP server package
// over sockets that take nothing, some or all of each write.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ParsedHead } from '../../../../proxy/server/head.ts'
import { OpenAnswers } from '../../../../proxy/server/openAnswers.ts'
import { UwsExchange } from '../../../../proxy/server/uwsExchange.ts'
import { limits } from '../../../support/limits.ts'
import { PackageResponse } from '../../../support/parts/packageResponse.ts'

const PARSED = { head: { method: 'GET', origin: '' }, chunked: false } as unknown as ParsedHead
/** More than any answer here needs. */
const READS_MAX = 10_000
const rooms = fc.array(fc.constantFrom(0, 0, 0.001, 0.4, 1), { minLength: 1, maxLength: 30 })
const sizes = fc.oneof(fc.nat(70_000), fc.constantFrom(0, 1, 2, 16_320, 16_321, 16_383, 16_384, 16_385))

function bytesOf(size: number, seed: number): Buffer {
  return Buffer.alloc(
    size,
    Uint8Array.from({ length: 251 }, (_, i) => (i * 31 + seed * 7) % 251),
  )
}

interface Answered {
  readonly body: Buffer
  /** How often the server was told of the end. */
  readonly ended: number
  readonly keptAtEnd: number
}

/** An exchange over the model, and what its client got. */
function answered(rooms: readonly number[], answer: (exchange: UwsExchange) => void): Answered {
  const model = new PackageResponse(rooms)
  const answers = new OpenAnswers(limits.readerStallMs)
  let ended = 0
  const host = { isLeaving: false, answers, onFailed: () => undefined, onEnded: () => ended++ }
  answer(new UwsExchange(model.response, 'req_1', PARSED, 0, host))
  for (let reads = 0; model.reads(); reads++) assert.ok(reads < READS_MAX)
  answers.stop()
  assert.ok(model.ended)
  const text = Buffer.concat(model.arrived)
  return { body: text.subarray(text.indexOf('\r\n\r\n') + 4), ended, keptAtEnd: model.keptAtEnd }
}

/** The body of a chunked answer that has arrived whole. */
function unchunked(bytes: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    const length = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (length === 0) return Buffer.concat(pieces)
    assert.equal(
      bytes.toString('latin1', line + 2 + length, line + 4 + length),
      '\r\n',
      'a chunk ends where its length says',
    )
    pieces.push(bytes.subarray(line + 2, line + 2 + length))
    at = line + 4 + length
  }
}

test('a stream arrives whole, whatever its socket takes', () => {
  const pieces = fc.array(
    sizes.filter((size) => size > 0),
    { minLength: 1, maxLength: 8 },
  )
  fc.assert(
    fc.property(rooms, pieces, sizes, fc.boolean(), (taken, lengths, last, listens) => {
      const sent = lengths.map(bytesOf)
      const end = bytesOf(last, 9)
      const { body, ended, keptAtEnd } = answered(taken, (exchange) => {
        exchange.beginStream()
        if (listens) exchange.setDrainListener({ onDrain: () => undefined })
        for (const piece of sent) exchange.write(piece)
        exchange.end(end)
      })
      assert.ok(unchunked(body).equals(Buffer.concat([...sent, end])))
      assert.equal(ended, 1)
      // An end of many bytes shows when all before it has left.
      if (listens && last > 64) assert.equal(keptAtEnd, 0)
    }),
  )
})

test('a stream whose writer waits for its client arrives whole', () => {
  fc.assert(
    fc.property(
      rooms,
      fc.array(
        sizes.filter((size) => size > 0),
        { minLength: 1, maxLength: 8 },
      ),
      sizes,
      (taken, lengths, last) => {
        const sent = lengths.map(bytesOf)
        const end = bytesOf(last, 9)
        const { body } = answered(taken, (exchange) => {
          let next = 0
          const write = (): void => {
            for (let piece = sent[next++]; piece !== undefined; piece = sent[next++]) if (!exchange.write(piece)) return
            if (next === sent.length + 1) exchange.end(end)
          }
          exchange.beginStream()
          exchange.setDrainListener({ onDrain: write })
          write()
        })
        assert.ok(unchunked(body).equals(Buffer.concat([...sent, end])))
      },
    ),
  )
})

test('an answer in one piece arrives whole, as text, as bytes and as the only bytes of a stream', () => {
  fc.assert(
    fc.property(rooms, sizes, fc.constantFrom('text', 'bytes', 'stream'), (taken, size, form) => {
      const bytes = bytesOf(size, 3)
      const own = form === 'text' ? bytes.toString('latin1') : bytes
      const { body, ended } = answered(taken, (exchange) => {
        if (form !== 'stream') return exchange.answer(200, 'text/plain', own)
        exchange.beginStream()
        exchange.end(bytes)
      })
      assert.ok(body.equals(Buffer.from(own)))
      assert.equal(ended, 1)
    }),
  )
})
