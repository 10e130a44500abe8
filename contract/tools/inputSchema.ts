import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import { GatewayError } from '../errors/errors.ts'

/** A JSON Schema of an object, as a catalog states it. */
export type InputSchema = Readonly<Record<string, unknown>>

/** A tool's input; defaults of the schema are put into it by the check. */
export type ToolInput = Record<string, unknown>

/** Checks an input and fills in the defaults of the schema. @throws GatewayError tool_input_invalid */
export type InputCheck = (input: ToolInput) => void

const FORMATS = {
  uri: (text: string) => URL.canParse(text),
}

/** A violation of the schema by an input. */
export interface InputFault {
  /** The path of the member, joined by dots; '' for the input as a whole. */
  readonly param: string
  /** The fault, as the text that follows the member's name in a sentence. */
  readonly reason: string
}

/**
 * Compiles a schema (JSON Schema 2020-12) that was checked by `assertInputSchema`. The result returns the first fault of an
 * input; null when it is valid.
 */
export function compileSchema(
  schema: InputSchema,
  { useDefaults = false } = {},
): (input: ToolInput) => InputFault | null {
  // The meta-schema takes a hundred times longer to compile than the schema.
  const validate: ValidateFunction = ajvOf({ useDefaults, validateSchema: false }).compile(schema)
  return (input) => (validate(input) ? null : faultOf(validate.errors?.[0]))
}

/** Checks a schema by the meta-schema of JSON Schema. @throws Error for an invalid schema, or one with unknown keywords */
export function assertInputSchema(schema: InputSchema): void {
  ajvOf({}).compile(schema)
}

function ajvOf(options: Options): Ajv2020 {
  return new Ajv2020({ formats: FORMATS, allowUnionTypes: true, ...options })
}

/** Compiles the schema of a tool's input, which control has checked. It is done once, when a catalog is read. */
export function compileInput(schema: InputSchema): InputCheck {
  const check = compileSchema(schema, { useDefaults: true })
  return (input) => {
    const fault = check(input)
    if (fault === null) return
    const { param, reason } = fault
    const what = param === '' ? 'The input' : param
    const message = `${what} does not match the tool's input_schema: ${reason}; see /v1/tools.`
    throw new GatewayError('tool_input_invalid', param === '' ? { message } : { message, param })
  }
}

function faultOf(fault: ErrorObject | undefined): InputFault {
  const path = (fault?.instancePath ?? '').split('/').slice(1).join('.')
  const extra = fault?.params['missingProperty'] ?? fault?.params['additionalProperty']
  const param = [path, extra].filter((part) => typeof part === 'string' && part !== '').join('.')
  return { param, reason: reasonOf(fault) }
}

function reasonOf(fault: ErrorObject | undefined): string {
  switch (fault?.keyword) {
    case 'required':
      return 'is missing'
    case 'additionalProperties':
      return 'is not a member of it'
    case 'enum':
      return `must be one of: ${[fault.params['allowedValues']].flat().join(', ')}`
    default:
      return fault?.message ?? 'is not valid'
  }
}
