import { code, sentence, table } from './markdown.mjs'

/** The form of an object's schema: one section of the page, with a table of its fields. */
export class SchemaTables {
  root
  queue = []
  seen = new Set()

  /** @param root the schema of the file, with its `$defs` */
  constructor(root) {
    this.root = root
  }

  /** The table of an object's fields; the objects within it are queued. */
  fields(schema, path) {
    const properties = Object.entries(schema.properties ?? {})
    const patterns = Object.entries(schema.patternProperties ?? {})
    const required = new Set(schema.required ?? [])
    const rows = [...properties, ...patterns].map(([name, raw]) => {
      const field = this.resolved(raw)
      const place = path === '' ? name : `${path}.${name}`
      const value = this.valueOf(field, place)
      const fallback = field.default === undefined ? '' : code(JSON.stringify(field.default))
      const note = field.errorMessage === undefined ? '' : ` It ${field.errorMessage}`
      const text = sentence(`${sentence(field.description ?? '')}${note}`)
      return [code(name), value, required.has(name) ? 'yes' : 'no', fallback, text]
    })
    return table(['field', 'value', 'required', 'default', 'meaning'], rows)
  }

  /** The sections of the objects that tables have named so far, and of those within them. */
  sections(level = '##') {
    const blocks = []
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
      const { title, schema } = next
      blocks.push(`${level} ${title}`, ...(schema.description === undefined ? [] : [sentence(schema.description)]))
      blocks.push(this.fields(schema, ''), ...this.conditions(schema))
    }
    return blocks
  }

  /** Queues an object below a heading. */
  add(title, schema) {
    if (this.seen.has(title)) return
    this.seen.add(title)
    this.queue.push({ title, schema })
  }

  /** Objects that fields take for some values of another field, such as the price by the modality. */
  conditions({ allOf = [] }) {
    const rows = allOf.flatMap(({ if: condition, then }) => {
      const [field, fixed] = Object.entries(condition?.properties ?? {})[0] ?? []
      if (field === undefined || then?.properties === undefined) return []
      return Object.entries(then.properties).flatMap(([name, raw]) => {
        const schema = this.resolved(raw)
        if (schema.properties === undefined && schema.items?.enum === undefined) return []
        if (raw.$ref === undefined && schema.items?.enum === undefined) return []
        return [[`${code(field)} is ${code(fixed.const)}`, code(name), this.valueOf({ ...schema, ...raw }, name)]]
      })
    })
    return rows.length === 0 ? [] : [table(['where', 'field', 'value'], rows)]
  }

  resolved(schema) {
    if (schema.$ref === undefined) return schema
    const name = schema.$ref.replace('#/$defs/', '')
    return { ...this.resolved(this.root.$defs[name]), ...schema, defName: name }
  }

  valueOf(schema, path) {
    const full = this.resolved(schema)
    if (full.enum !== undefined) return full.enum.map((value) => code(JSON.stringify(value))).join(', ')
    if (full.const !== undefined) return code(JSON.stringify(full.const))
    if (full.type === 'array') return `list of ${this.valueOf(full.items ?? {}, path)}`
    if (full.properties !== undefined || full.patternProperties !== undefined) {
      const title = full.defName ?? path
      this.add(title, full)
      return `[${title}](#${title.toLowerCase().replace(/[^a-z0-9_-]/g, '')})`
    }
    if (full.type === 'object' && typeof full.additionalProperties === 'object')
      return `object of ${this.valueOf(full.additionalProperties, path)}`
    return [full.type ?? 'any'].flat().join(' or ')
  }
}
