// Loaded into every test process. It ends the process if the runner was killed and can't do so.
const runner = process.ppid;
setInterval(() => {
  if (process.ppid !== runner) process.exit(1);
}, 500).unref();
