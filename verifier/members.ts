import { type Bytes, fromHex } from './bytes.ts'
import { Failed, must } from './failed.ts'
import { HASH_BYTES } from './tree.ts'

/** An object of a JSON text, whose members are read strictly: each has one way to be written. */
export class Members {
  private readonly values: Readonly<Record<string, unknown>>
  private readonly path: string

  /** @param path names the object in reasons; @throws Failed where the value is no object */
  constructor(value: unknown, path: string) {
    must(typeof value === 'object' && value !== null && !Array.isArray(value), `${path} is not an object`)
    this.values = value as Record<string, unknown>
    this.path = path
  }

  names(): string[] {
    return Object.keys(this.values)
  }

  /** Whether there is such a member, be it null. */
  has(name: string): boolean {
    return Object.hasOwn(this.values, name)
  }

  isNull(name: string): boolean {
    return this.value(name) === null
  }

  /** @throws Failed if the member is missing; the methods below also throw it for invalid values */
  value(name: string): unknown {
    if (!this.has(name)) throw new Failed(`${this.path} has no ${name}`)
    return this.values[name]
  }

  object(name: string): Members {
    return new Members(this.value(name), `${this.path}.${name}`)
  }

  objects(name: string): Members[] {
    return this.items(name).map((value, at) => new Members(value, `${this.path}.${name}[${at}]`))
  }

  text(name: string): string {
    const value = this.value(name)
    if (typeof value !== 'string') throw this.fault(name, 'a text')
    return value
  }

  /** A text of some, or null, which is ''. */
  textOrNull(name: string): string {
    return this.isNull(name) ? '' : this.text(name)
  }

  oneOf<Name extends string>(name: string, names: readonly Name[]): Name {
    const text = this.text(name)
    const found = names.find((known) => known === text)
    if (found === undefined) throw this.fault(name, `one of ${names.join(', ')}`)
    return found
  }

  flag(name: string): boolean {
    const value = this.value(name)
    if (typeof value !== 'boolean') throw this.fault(name, 'true or false')
    return value
  }

  /** An integer from 0 on that JavaScript has exactly. */
  count(name: string): number {
    const value = this.value(name)
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw this.fault(name, 'a whole number')
    return value
  }

  /** An integer from 0 on, as a text. */
  digits(name: string): bigint {
    const text = this.text(name)
    if (!/^(0|[1-9]\d{0,39})$/.test(text)) throw this.fault(name, 'a whole number in digits')
    return BigInt(text)
  }

  /** The elements of a list, of any type. */
  items(name: string): readonly unknown[] {
    const value = this.value(name)
    if (!Array.isArray(value)) throw this.fault(name, 'a list')
    return value
  }

  hash(name: string): Bytes {
    return this.hashOf(name, this.value(name))
  }

  hashes(name: string): Bytes[] {
    return this.items(name).map((value) => this.hashOf(name, value))
  }

  /** The names and texts of all members that are texts. */
  texts(): Map<string, string> {
    return new Map(
      Object.entries(this.values).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    )
  }

  private hashOf(name: string, value: unknown): Bytes {
    const bytes = typeof value === 'string' ? fromHex(value) : undefined
    if (bytes?.length !== HASH_BYTES) throw this.fault(name, `${HASH_BYTES} bytes in hex`)
    return bytes
  }

  private fault(name: string, what: string): Failed {
    return new Failed(`${this.path}.${name} is not ${what}`)
  }
}
