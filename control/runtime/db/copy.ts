import pg from 'pg'
import type { Client } from './pool.ts'

// Rows for COPY in its binary format: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.4

// They travel as one message CopyData and a CopyDone:
// https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-COPYDATA

const HEADER = Buffer.from('d\0\0\0\0PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
/** Minus one in place of a row's count of fields, then CopyDone. */
const TRAILER = Buffer.from('\xff\xffc\0\0\0\x04', 'latin1')
const DONE_BYTES = 5
const NONE = Buffer.alloc(0)
const LENGTH_BYTES = 4
const HIGH_WORD = 2 ** 32
/** Bytes of a row without its texts: the most that 64 fields of fixed width take. */
const FIXED_BYTES = 1_024
/** Texts up to this length are written by a loop, which is done before a call to the encoder would begin. */
const SHORT_TEXT = 20
const UTF8_BYTES_MAX = 3

/** Memory of rows that were written, for the next ones: fresh memory of this size costs a fault a page, and collections. */
const spare: Buffer[] = []
const SPARE_MAX = 4
const SPARE_BYTES_MAX = 16 * 1_048_576

function memoryOf(bytes: number): Buffer {
  const found = spare.findIndex((one) => one.length >= bytes)
  const [kept] = found === -1 ? [] : spare.splice(found, 1)
  return kept ?? Buffer.allocUnsafeSlow(bytes)
}

/** Rows in PostgreSQL's binary format: `row` begins each one, then follow its fields, in the order of the columns. */
export class CopyRows {
  private readonly fieldCount: number
  private bytes: Buffer
  private length: number

  /**
   * @param fieldCount fields of each row, at most 64
   * @param expectedBytes of all rows; more only takes longer
   */
  constructor(fieldCount: number, expectedBytes: number) {
    this.fieldCount = fieldCount
    this.bytes = memoryOf(HEADER.length + expectedBytes + FIXED_BYTES)
    this.length = HEADER.copy(this.bytes)
  }

  row(): void {
    this.reserve(FIXED_BYTES)
    this.int16(this.fieldCount)
  }

  text(value: string): void {
    const most = value.length * UTF8_BYTES_MAX
    this.reserve(most + FIXED_BYTES)
    const start = this.length + LENGTH_BYTES
    const written = value.length > SHORT_TEXT ? -1 : this.ascii(value, start)
    const size = written >= 0 ? written : this.bytes.write(value, start, most, 'utf8')
    this.int32(size)
    this.length += size
  }

  boolean(value: boolean): void {
    this.int32(1)
    this.bytes[this.length++] = value ? 1 : 0
  }

  smallint(value: number): void {
    this.int32(2)
    this.int16(value)
  }

  integer(value: number): void {
    this.int32(4)
    this.int32(value)
  }

  /** @param value exact: of at most 2^53 */
  bigint(value: number): void {
    this.int32(8)
    const high = Math.floor(value / HIGH_WORD)
    this.int32(high)
    this.int32(value - high * HIGH_WORD)
  }

  bytea(value: Uint8Array): void {
    this.reserve(value.length + FIXED_BYTES)
    this.int32(value.length)
    this.bytes.set(value, this.length)
    this.length += value.length
  }

  null(): void {
    this.int32(-1)
  }

  /** The messages that carry the rows; none can be added then. */
  messages(): Buffer {
    this.reserve(TRAILER.length)
    this.length += TRAILER.copy(this.bytes, this.length)
    // Its own length counts, the letter before it does not.
    this.bytes.writeUInt32BE(this.length - DONE_BYTES - 1, 1)
    return this.bytes.subarray(0, this.length)
  }

  /** Gives the memory up for other rows, once the messages have been read by the server. */
  release(): void {
    if (spare.length < SPARE_MAX && this.bytes.length <= SPARE_BYTES_MAX) spare.push(this.bytes)
    this.bytes = NONE
  }

  private int16(value: number): void {
    this.bytes[this.length++] = value >> 8
    this.bytes[this.length++] = value
  }

  private int32(value: number): void {
    const { bytes, length } = this
    bytes[length] = value >>> 24
    bytes[length + 1] = value >>> 16
    bytes[length + 2] = value >>> 8
    bytes[length + 3] = value
    this.length = length + 4
  }

  /** @returns its bytes, or -1 where it is not ASCII */
  private ascii(value: string, start: number): number {
    const { bytes } = this
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      if (code > 0x7f) return -1
      bytes[start + i] = code
    }
    return value.length
  }

  private reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow((this.length + more) * 2)
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }
}

/**
 * A statement that is sent together with its rows, without waiting for the server to ask for them: should it refuse the
 * statement, it passes over them, as the protocol has it.
 */
class CopyQuery extends pg.Query {
  private readonly statement: string
  private readonly sent: Buffer

  constructor(statement: string, sent: Buffer, callback: (error: Error | undefined) => void) {
    super(statement, callback)
    this.statement = statement
    this.sent = sent
  }

  override submit = (connection: pg.Connection): void => {
    const { stream } = connection
    stream.cork()
    try {
      connection.query(this.statement)
      stream.write(this.sent)
    } finally {
      stream.uncork()
    }
  }

  /** The driver asks for the rows, which are on their way. */
  handleCopyInResponse(): void {}
}

/**
 * Writes rows by COPY, for which the server neither makes arrays nor puts rows together from them, and which it logs page by page.
 * @param table its name and columns as SQL, as many as the rows have fields, of the types that those were written as
 * @throws the database error
 */
export function copyRows(client: Client, table: string, rows: CopyRows): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(
      new CopyQuery(`COPY ${table} FROM STDIN (FORMAT binary)`, rows.messages(), (error) => {
        // On success the driver passes null.
        if (error instanceof Error) return reject(error)
        rows.release()
        resolve()
      }),
    )
  })
}
