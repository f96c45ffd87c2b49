import { describeDifferential } from './differential.js';

describeDifferential(['token-bucket', 'gcra', 'leaky-bucket']);
