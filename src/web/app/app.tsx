import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useSyncExternalStore } from "react";
import { onPageKey, pageKey } from "../data/page-key.ts";
import { cache } from "../data/reading.ts";
import { router } from "./router.tsx";

// Not needed by a browser that is signed in.
const signingIn = () => import("./sign-in.tsx");
const SignIn = lazy(async () => ({ default: (await signingIn()).SignIn }));
const SignedOut = lazy(async () => ({ default: (await signingIn()).SignedOut }));

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
