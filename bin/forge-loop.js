#!/usr/bin/env node
import { main } from '../dist/main.js';

// A stack then names the lines of src/, not those of the bundle.
if (process.env.FORGE_DEBUG) process.setSourceMapsEnabled(true);
process.exit(await main(process.argv));
