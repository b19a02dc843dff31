#!/usr/bin/env node
import { main } from '../dist/main.js';

process.exit(await main(process.argv));
