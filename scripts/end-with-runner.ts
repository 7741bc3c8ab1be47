// Loaded into every test process: it ends when the runner was killed and can no longer stop it.
const runner = process.ppid;
setInterval(() => {
  if (process.ppid !== runner) process.exit(1);
}, 500).unref();
