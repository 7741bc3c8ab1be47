import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { type ReactNode, Suspense, useSyncExternalStore } from "react";
import { onPageKey, pageKey } from "../data/page-key.ts";
import { cache } from "../data/reading.ts";
import { later } from "../ui/later.ts";
import { router } from "./router.tsx";

// A browser that is signed in does not need this code.
const signingIn = () => import("./sign-in.tsx");
const SignIn = later(async () => (await signingIn()).SignIn);
const SignedOut = later(async () => (await signingIn()).SignedOut);

export function App(): ReactNode {
  const key = useSyncExternalStore(onPageKey, pageKey);
  const isSigningIn = location.pathname === "/sign-in";
  if (isSigningIn || key === null) return <Suspense>{isSigningIn ? <SignIn /> : <SignedOut />}</Suspense>;
  return (
    <QueryClientProvider client={cache}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}
