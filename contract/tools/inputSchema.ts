import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { GatewayError } from '../errors/errors.ts'

/** A JSON Schema of an object, as a catalog states it. */
export type InputSchema = Readonly<Record<string, unknown>>

/** A tool's input; defaults of the schema are put into it by the check. */
export type ToolInput = Record<string, unknown>

/** Checks an input and fills in what the schema has defaults for. @throws GatewayError tool_input_invalid */
export type InputCheck = (input: ToolInput) => void

const FORMATS = {
  uri: (text: string) => URL.canParse(text),
}

/**
 * Compiles the schema of a tool's input (JSON Schema 2020-12). It is done once, when a catalog is read.
 * @throws Error when it is no schema, or has words that are not known
 */
export function compileInput(schema: InputSchema): InputCheck {
  const ajv = new Ajv2020({ useDefaults: true, formats: FORMATS, allowUnionTypes: true })
  const validate: ValidateFunction = ajv.compile(schema)
  return (input) => {
    if (validate(input)) return
    throw invalidInput(validate.errors?.[0])
  }
}

function invalidInput(fault: ErrorObject | undefined): GatewayError {
  const path = (fault?.instancePath ?? '').split('/').slice(1).join('.')
  const extra = fault?.params['missingProperty'] ?? fault?.params['additionalProperty']
  const param = [path, extra].filter((part) => typeof part === 'string' && part !== '').join('.')
  const what = param === '' ? 'The input' : param
  const reason = extra === undefined || fault?.keyword === 'required' ? fault?.message : 'is not a member of it'
  const message = `${what} does not match the tool's input_schema: ${reason ?? 'it is not valid'}; see /v1/tools.`
  return new GatewayError('tool_input_invalid', param === '' ? { message } : { message, param })
}
