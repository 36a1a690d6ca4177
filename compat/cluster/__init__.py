"""The session cluster: a dispatcher that runs jobs in separate processes, on one running Spark.

- The **dispatcher** (:mod:`~compat.cluster.dispatcher`) takes jobs, gives them slots, and starts what has died. It may be
  killed at any time: its database has all it knows, and everything else goes on without it.
- A **JobMaster** (:mod:`~compat.cluster.master`) is the process of one job. It is forked from a template
  (:mod:`~compat.cluster.template`) that has loaded all modules.
- The visible state of jobs is read from their records and files (:mod:`~compat.cluster.observation`), for the REST
interface
  (:mod:`~compat.cluster.app`) and the pages (:mod:`~compat.cluster.pages`).
- A **deployment** (:mod:`~compat.cluster.deployments`) upgrades a job, step by step, with a way back; a **gate**
  (:mod:`~compat.cluster.gate`) asks a registry which jobs may run.
- A separate process keeps **Spark** (:mod:`~compat.cluster.spark`), which JobMasters attach to.

Flink: ``Dispatcher``, ``JobMaster``, ``ResourceManager``.
"""
