import { GatewayError, invalidRequest } from '../../contract/errors/errors.ts'
import type { UploadLimits } from './limits.ts'
import { type FormPart, parseMultipart } from './multipart.ts'

/** The fields and files of a form, by name. Clients name lists `name[]`. */
export class Form {
  private readonly parts: readonly FormPart[]
  private readonly limits: UploadLimits

  constructor(parts: readonly FormPart[], limits: UploadLimits) {
    this.parts = parts
    this.limits = limits
  }

  /** Of all fields and files, as they are written. */
  get names(): readonly string[] {
    return this.parts.map((part) => part.name)
  }

  /**
   * A field's text; null when it is absent.
   * @throws GatewayError 400 when it is given twice or too long
   */
  text(name: string): string | null {
    const found = this.parts.filter((part) => part.name === name)
    const [part] = found
    if (part === undefined) return null
    if (found.length > 1) throw invalidRequest(`${name} is given ${found.length} times; give it once.`, name)
    return this.textOf(part)
  }

  /** The texts of all fields of this name, also as `name[]`. */
  texts(name: string): string[] {
    return this.all(name).map((part) => this.textOf(part))
  }

  /** The fields whose names begin with the prefix, with the rest of their names. */
  below(prefix: string): [name: string, text: string][] {
    const found = this.parts.filter((part) => part.name.startsWith(prefix))
    return found.map((part) => [part.name.slice(prefix.length), this.textOf(part)])
  }

  /** The contents of all files of this name, also as `name[]`. */
  files(name: string): Buffer[] {
    return this.all(name).map((part) => part.data)
  }

  /** The one file of this name. @throws GatewayError 400 when it is absent, empty, or given twice */
  file(name: string): Buffer {
    const files = this.files(name)
    const [file] = files
    if (file === undefined || files.length > 1) throw invalidRequest(`Send one file as ${name}.`, name)
    if (file.length === 0) throw invalidRequest(`The file ${name} is empty.`, name)
    return file
  }

  private all(name: string): readonly FormPart[] {
    return this.parts.filter((part) => part.name === name || part.name === `${name}[]`)
  }

  private textOf(part: FormPart): string {
    if (part.data.length > this.limits.formFieldBytesMax) {
      const message = `${part.name} is longer than ${this.limits.formFieldBytesMax} bytes; shorten it.`
      throw new GatewayError('invalid_request', { message, param: part.name })
    }
    return part.data.toString('utf8')
  }
}

/** Reads a request's body as a form. @throws GatewayError as `parseMultipart` */
export function readForm(body: Buffer, contentType: string, limits: UploadLimits): Form {
  return new Form(parseMultipart(body, contentType, limits), limits)
}
