/** The tags of the fields of a span, by the official definitions. */
const SPAN = { traceId: 0x0a, spanId: 0x12, state: 0x1a, parentId: 0x22, name: 0x2a, kind: 0x30 } as const
const SPAN_END = { startNs: 0x39, endNs: 0x41, attribute: 0x4a, status: 0x7a, flags: [0x85, 0x01] } as const
/** Those of a status, of an attribute, and of the kinds of values. */
const TAG = { code: 0x18, key: 0x0a, value: 0x12, text: 0x0a, flag: 0x10, integer: 0x18, decimal: 0x21 } as const
const STATUS_ERROR = 2
const SCRATCH_BYTES = 16_384
const VARINT_BYTES_MAX = 10
const DOUBLE_BYTES = 8

/** Room for all fields of a span but its texts and attributes. */
const FIXED_BYTES = 128
const HALF = 2 ** 32

let scratch = Buffer.allocUnsafe(SCRATCH_BYTES)
let end = 0
/** The field of each key, encoded. */
const keys = new Map<string, Buffer>()

/** The fields of a span beside its attributes. */
export interface SpanFields {
  /** Hex digits. */
  readonly traceId: string
  readonly spanId: string
  /** '' for none. */
  readonly parentId: string
  readonly state: string
  /** As OTLP has them. */
  readonly flags: number
  readonly name: string
  readonly kind: number
  readonly startNs: number
  readonly endNs: number
  readonly isError: boolean
}

/**
 * Writes a span as OTLP has it, one at a time; attributes without a value are left out. The encoder that is made of the definitions
 * takes several times as long, most of it for objects of attributes.
 */
export class SpanWriter {
  constructor(span: SpanFields) {
    end = 0
    reserve(FIXED_BYTES)
    id(SPAN.traceId, span.traceId)
    id(SPAN.spanId, span.spanId)
    if (span.parentId !== '') id(SPAN.parentId, span.parentId)
    scratch[end++] = SPAN.kind
    scratch[end++] = span.kind
    scratch[end++] = SPAN_END.startNs
    fixed64(span.startNs)
    scratch[end++] = SPAN_END.endNs
    fixed64(span.endNs)
    for (const byte of SPAN_END.flags) scratch[end++] = byte
    end = scratch.writeUInt32LE(span.flags, end)
    if (span.isError) for (const byte of [SPAN_END.status, 2, TAG.code, STATUS_ERROR]) scratch[end++] = byte
    textField(SPAN.name, span.name)
    if (span.state !== '') textField(SPAN.state, span.state)
  }

  /** The span. */
  get bytes(): Buffer {
    return Buffer.from(scratch.subarray(0, end))
  }

  text(key: string, value: string): this {
    if (value === '') return this
    const length = Buffer.byteLength(value)
    begin(key, 1 + sizeOf(length) + length)
    textField(TAG.text, value, length)
    return this
  }

  /** An integer, of 0 or more. */
  count(key: string, value: number): this {
    begin(key, 1 + sizeOf(value))
    scratch[end++] = TAG.integer
    varint(value)
    return this
  }

  /** An integer, which is left out where it is 0. */
  some(key: string, value: number): this {
    return value === 0 ? this : this.count(key, value)
  }

  decimal(key: string, value: number): this {
    begin(key, 1 + DOUBLE_BYTES)
    scratch[end++] = TAG.decimal
    end = scratch.writeDoubleLE(value, end)
    return this
  }

  flag(key: string, value: boolean): this {
    begin(key, 2)
    scratch[end++] = TAG.flag
    scratch[end++] = value ? 1 : 0
    return this
  }
}

/** Begins an attribute, up to its value of so many bytes. */
function begin(key: string, valueBytes: number): void {
  const field = keyField(key)
  const bytes = field.length + 1 + sizeOf(valueBytes) + valueBytes
  reserve(1 + VARINT_BYTES_MAX + bytes)
  scratch[end++] = SPAN_END.attribute
  varint(bytes)
  scratch.set(field, end)
  end += field.length
  scratch[end++] = TAG.value
  varint(valueBytes)
}

/** An id in hex digits, as bytes. */
function id(tag: number, hex: string): void {
  scratch[end++] = tag
  scratch[end++] = hex.length / 2
  end += scratch.write(hex, end, 'hex')
}

function textField(tag: number, text: string, length = Buffer.byteLength(text)): void {
  reserve(1 + VARINT_BYTES_MAX + length)
  scratch[end++] = tag
  varint(length)
  end += scratch.write(text, end)
}

/** An integer above those of 32 bits. */
function fixed64(value: number): void {
  const high = Math.floor(value / HALF)
  end = scratch.writeUInt32LE(value - high * HALF, end)
  end = scratch.writeUInt32LE(high, end)
}

function keyField(key: string): Buffer {
  const known = keys.get(key)
  if (known !== undefined) return known
  const field = Buffer.from(`\0\0${key}`)
  field[0] = TAG.key
  // Keys are names of the conventions, below 128 bytes.
  field[1] = field.length - 2
  keys.set(key, field)
  return field
}

function reserve(bytes: number): void {
  if (end + bytes <= scratch.length) return
  const larger = Buffer.allocUnsafe(Math.max(2 * scratch.length, end + bytes))
  scratch.copy(larger, 0, 0, end)
  scratch = larger
}

function varint(value: number): void {
  let rest = value
  while (rest > 0x7f) {
    scratch[end++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  scratch[end++] = rest
}

/** The bytes of a varint. */
function sizeOf(value: number): number {
  let size = 1
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) size++
  return size
}
