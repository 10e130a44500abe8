import { useState } from 'preact/hooks'
import { read } from '../api/client.ts'
import { CLIENTS, type ClientName, snippetOf } from '../connect/snippets.ts'
import { Card, Choice, Code } from '../parts/pieces.tsx'
import { Await } from '../parts/states.tsx'
import { useResource } from '../state/resource.ts'

/** Settings of common clients, with the address of this gateway. */
export function Connect() {
  const [client, setClient] = useState<ClientName>('curl')
  const models = useResource('models', (signal) => read('/v1/models', undefined, { signal }))
  return (
    <div class="stack">
      <Choice label="Client" values={CLIENTS} value={client} onChange={setClient} />
      <Await of={models} what="models">
        {({ data }) => {
          const model = data.find(({ endpoints }) => endpoints.includes('chat'))?.id ?? 'MODEL'
          const name = CLIENTS.find(([one]) => one === client)?.[1] ?? ''
          return (
            <Card title={name} aside={<span class="muted">SLUICE_KEY is your API key</span>}>
              <Code text={snippetOf(client, location.origin, model)} label={`the settings of ${name}`} />
            </Card>
          )
        }}
      </Await>
      <p class="muted">
        The key is not written into the snippets, so that they can be shared. Every client reads the same key from its
        environment.
      </p>
    </div>
  )
}
