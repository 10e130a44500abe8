import './styles/base.css'
import './styles/layout.css'
import './styles/parts.css'
import './styles/pages.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { takeKeyOfAddress } from './state/session.ts'

takeKeyOfAddress()
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
