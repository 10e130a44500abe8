import { randomUUID } from 'node:crypto'

/** A file of a form that is sent on. Its names are the gateway's own and need no quoting. */
export interface FormFile {
  readonly name: string
  readonly filename: string
  readonly contentType: string
  readonly data: Buffer
}

/** A form as it is sent: the files are the buffers that were given, not copies. */
export interface FormBody {
  readonly contentType: string
  readonly pieces: readonly Buffer[]
}

/**
 * Writes a multipart/form-data body (RFC 7578). Its boundary is random, so that no content can hold it but by chance.
 * @param fields names of the gateway's own choice, with texts of any kind
 */
export function formBody(
  fields: readonly (readonly [name: string, text: string])[],
  files: readonly FormFile[],
): FormBody {
  const boundary = `form-${randomUUID()}`
  const pieces: Buffer[] = []
  let text = ''
  for (const [name, value] of fields) {
    text += `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  }
  for (const { name, filename, contentType, data } of files) {
    const disposition = `content-disposition: form-data; name="${name}"; filename="${filename}"`
    text += `--${boundary}\r\n${disposition}\r\ncontent-type: ${contentType}\r\n\r\n`
    pieces.push(Buffer.from(text), data)
    text = '\r\n'
  }
  pieces.push(Buffer.from(`${text}--${boundary}--\r\n`))
  return { contentType: `multipart/form-data; boundary=${boundary}`, pieces }
}
