// Goal: a well-formed form is read as busboy reads it, which most servers of Node.js use. Method: forms are made at random, with contents
// that look like boundaries; busboy gets the same bytes in pieces that are cut at random places. A form that is cut short is refused or
// read as far as nothing is lost. The seed is in the message of a failure.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Busboy } from '@fastify/busboy'
import fc from 'fast-check'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { parseMultipart } from '../../../../proxy/upload/multipart.ts'
import { limits } from '../../../support/limits.ts'
import { rounds } from '../../../support/rounds.ts'

const FORMS = rounds({ short: 400, long: 10_000 })
const READ_MS_MAX = rounds({ short: 1_500, long: 120_000 })
const READER_LIMITS = { ...limits, formPartsMax: 100, formLookalikesMax: 10_000 }

interface Part {
  readonly name: string
  readonly filename: string | null
  readonly data: Buffer
}

interface WrittenForm {
  readonly boundary: string
  readonly contentType: string
  readonly body: Buffer
  /** Where busboy's input is cut, each from 0 to 1. */
  readonly cuts: readonly number[]
  readonly parts: readonly Part[]
}

const BOUNDARY_CHARACTERS = "0123456789ABCXYZabcxyz'()+_,-./:=?"
const boundary = fc.string({ unit: fc.constantFrom(...BOUNDARY_CHARACTERS), minLength: 1, maxLength: 70 })
const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .map((text) => text.replace(/[\p{Cc}"\\%/]/gu, '_').trim())
  .filter((text) => text !== '')

/** busboy takes the last part of a path, which a name of dots alone has not. */
const filename = name.map((text) => text.replace(/^\.+$/, '_'))

/** Bytes, and pieces of what frames parts. A whole delimiter within a content would be one, so none is made. */
function content(of: string): fc.Arbitrary<Buffer> {
  const pieces = [
    '\r\n',
    '\r',
    '\n',
    '--',
    '-',
    `--${of.slice(0, -1)}`,
    `\r\n--${of.slice(0, -1)}`,
    `--${of}`,
    'content-disposition: form-data',
  ]
  const piece = fc.oneof(
    fc.constantFrom(...pieces).map((text) => Buffer.from(text, 'latin1')),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  )
  return fc
    .array(piece, { maxLength: 8 })
    .map((all) => Buffer.concat(all))
    .filter((data) => !Buffer.concat([Buffer.from('\r\n'), data]).includes(`\r\n--${of}`, 0, 'latin1'))
}

function part(of: string): fc.Arbitrary<{ bytes: Buffer; part: Part }> {
  return fc
    .record({ name, filename: fc.option(filename), data: content(of), type: fc.boolean() })
    .map(({ name, filename, data, type }) => {
      const file = filename === null ? '' : `; filename="${filename}"`
      const media = filename === null ? 'text/plain; charset=utf-8' : 'application/octet-stream'
      const contentType = type || filename !== null ? `Content-Type: ${media}\r\n` : ''
      const head = `--${of}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${contentType}\r\n`
      return { bytes: Buffer.concat([Buffer.from(head), data, Buffer.from('\r\n')]), part: { name, filename, data } }
    })
}

const form: fc.Arbitrary<WrittenForm> = boundary.chain((of) =>
  fc
    .record({
      parts: fc.array(part(of), { minLength: 1, maxLength: 5 }),
      cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
      epilogue: fc.constantFrom('', '\r\n', '\r\nanything'),
    })
    .map(({ parts, cuts, epilogue }) => ({
      boundary: of,
      contentType: `multipart/form-data; boundary="${of}"`,
      body: Buffer.concat([...parts.map(({ bytes }) => bytes), Buffer.from(`--${of}--${epilogue}`)]),
      cuts,
      parts: parts.map((one) => one.part),
    })),
)

function cutAt(body: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.round(cut * body.length)), body.length].sort((a, b) => a - b)
  return places.slice(1).map((end, at) => body.subarray(places[at], end))
}

/** The parts that busboy reads from pieces of a body; the order of fields and files among each other is that of the body. */
async function readByBusboy(pieces: readonly Buffer[], contentType: string): Promise<Part[]> {
  const parts: { name: string; filename: string | null; data: Buffer[] }[] = []
  const reader = new Busboy({ headers: { 'content-type': contentType }, defCharset: 'utf8' })
  reader.on('field', (field, value) => parts.push({ name: field, filename: null, data: [Buffer.from(value)] }))
  reader.on('file', (field, stream, filename) => {
    const read = { name: field, filename, data: [] as Buffer[] }
    parts.push(read)
    stream.on('data', (bytes: Buffer) => read.data.push(bytes))
  })
  const finished = once(reader, 'finish')
  for (const piece of pieces) reader.write(piece)
  reader.end()
  await finished
  return parts.map(({ data, ...rest }) => ({ ...rest, data: Buffer.concat(data) }))
}

/** A field is text: bytes that are no UTF-8 have no other reading. */
const shown = (parts: readonly Part[]) =>
  parts.map(({ name, filename, data }) => [
    name,
    filename,
    filename === null ? data.toString('utf8') : data.toString('hex'),
  ])

test('well-formed forms are read as they were written, and as busboy reads them', async () => {
  await fc.assert(
    fc.asyncProperty(form, async ({ contentType, body, cuts, parts }) => {
      const own = parseMultipart(body, contentType, READER_LIMITS)
      assert.deepEqual(shown(own), shown(parts))
      assert.deepEqual(shown(own), shown(await readByBusboy(cutAt(body, cuts), contentType)))
    }),
    { numRuns: FORMS, interruptAfterTimeLimit: READ_MS_MAX },
  )
})

test('a form that ends before its closing boundary is refused, wherever it is cut', () => {
  fc.assert(
    fc.property(form, fc.double({ min: 0, max: 1, noNaN: true }), ({ boundary: of, contentType, body }, place) => {
      const closing = body.lastIndexOf(`--${of}--`, undefined, 'latin1')
      const cut = body.subarray(0, Math.floor(place * (closing + of.length + 3)))
      assert.throws(() => parseMultipart(cut, contentType, READER_LIMITS), GatewayError)
    }),
    { numRuns: FORMS, interruptAfterTimeLimit: READ_MS_MAX },
  )
})

const partText = (head: string, text = 'x') => `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`
const LAST = partText('name="z"', 'last')
const Z = ['z', null, 'last']
const X = Buffer.from('x').toString('hex')

/** Where the two readers differ, and why ours does what it does. */
const DECIDED: readonly { why: string; body: string; own: unknown; busboy: unknown }[] = [
  {
    why: 'a part is a file by its file name alone, as RFC 7578 has it, whatever its type',
    body: `${partText('name="a"\r\nContent-Type: application/octet-stream')}${LAST}`,
    own: [['a', null, 'x'], Z],
    busboy: [['a', undefined, X], Z],
  },
  {
    why: 'blanks behind a boundary are allowed (RFC 2046 section 5.1.1); a part must not vanish',
    body: `${partText('name="a"').replace('--b', '--b \t')}${LAST}`,
    own: [['a', null, 'x'], Z],
    busboy: [Z],
  },
  {
    why: 'a longer line that begins like the boundary is content',
    body: `${partText('name="a"', 'x\r\n--bc\r\ny')}${LAST}`,
    own: [['a', null, 'x\r\n--bc\r\ny'], Z],
    busboy: [['a', null, 'x'], Z],
  },
  {
    why: 'file names are never used as paths, so they stay as they are',
    body: `${partText('name="a"; filename="/tmp/q"')}${LAST}`,
    own: [['a', '/tmp/q', X], Z],
    busboy: [['a', 'q', X], Z],
  },
  {
    why: 'bytes in another transfer encoding would be taken for the file',
    body: `${partText('name="a"; filename="q"\r\nContent-Transfer-Encoding: base64', 'eA==')}${LAST}`,
    own: 'bad_multipart',
    busboy: [['a', 'q', Buffer.from('eA==').toString('hex')], Z],
  },
  {
    why: 'a part without a name is refused, as something of the client is lost otherwise',
    body: `${partText('filename="q"')}${LAST}`,
    own: 'bad_multipart',
    busboy: [[undefined, 'q', X], Z],
  },
]

function ownReading(body: Buffer): unknown {
  try {
    return shown(parseMultipart(body, 'multipart/form-data; boundary=b', READER_LIMITS))
  } catch (error) {
    assert(error instanceof GatewayError)
    return error.row
  }
}

test('the cases in which the readers differ are decided', async () => {
  for (const { why, body, own, busboy } of DECIDED) {
    const bytes = Buffer.from(`${body}--b--\r\n`)
    assert.deepEqual(ownReading(bytes), own, why)
    assert.deepEqual(shown(await readByBusboy([bytes], 'multipart/form-data; boundary=b')), busboy, why)
  }
})
