//===- SpoolTest.cpp - A folder of jobs is answered ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spool/Claim.h"
#include "Spool/ProcessIdentity.h"
#include "SpoolFixture.h"
#include "WorkerHarness.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fastk::worker;
using namespace fastk::worker::test;

namespace {

/// One that this machine had.
ProcessIdentity deadProcess() {
  ProcessIdentity dead = ProcessIdentity::ofThisProcess();
  dead.started = "1";
  return dead;
}

/// What the main thread does while it blocks signals no other thread cuts off.
void expectOthersBlockSignals(pid_t pid) {
  std::string main = std::to_string(pid), word;
  for (const auto &task : fs::directory_iterator("/proc/" + main + "/task")) {
    if (task.path().filename() == main)
      continue;
    std::ifstream status(task.path() / "status");
    while (status >> word && word != "SigBlk:")
      ;
    if (status >> word)
      EXPECT_TRUE(std::stoull(word, nullptr, 16) >> (SIGTERM - 1) & 1);
  }
}

} // namespace

TEST_F(Spool, AnswersEveryOpenJob) {
  add("job-1", right());
  add("job-2", reduceJob(compile("reduce.c", "-DT=double")));
  add("job-3", right());
  write("other", "not a job of the spool");
  std::ofstream(folder + "/job-3/verdict.json") << "kept";
  Output output = run();
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "");
  Verdict verdict = verdictOf("job-1");
  EXPECT_EQ(verdict.status, Status::OK) << explain(verdict);
  EXPECT_EQ(verdict.id, "job-1");
  // Writes doubles where floats belong.
  EXPECT_EQ(verdictOf("job-2").status, Status::Wrong);
  EXPECT_EQ(textOf("job-3"), "kept");
  EXPECT_FALSE(isAnswered("other"));
  EXPECT_NE(output.err.find("[2/2, "), std::string::npos) << output.err;
  EXPECT_NE(output.err.find("a minute]"), std::string::npos) << output.err;
  // A second time there is nothing to do.
  std::string before = textOf("job-1");
  EXPECT_EQ(run().code, 0);
  EXPECT_EQ(textOf("job-1"), before);
}

TEST_F(Spool, ABadJobStopsNoOther) {
  write("job-a", "{\"format\": 1");
  Job missing = right();
  add("job-b", missing);
  fs::remove(folder + "/job-b/baseline.so");
  add("job-c", right());
  Output output = run();
  EXPECT_EQ(output.code, 1) << output.err;
  EXPECT_FALSE(isAnswered("job-a"));
  EXPECT_NE(output.err.find("job-a/job.json: $: not valid JSON"),
            std::string::npos)
      << output.err;
  Verdict without = verdictOf("job-b");
  EXPECT_EQ(without.status, Status::Error);
  EXPECT_NE(without.reason.find("baseline"), std::string::npos)
      << without.reason;
  EXPECT_EQ(verdictOf("job-c").status, Status::OK);
}

/// Killed at any moment, what was answered stays, and the next run goes on.
TEST_F(Spool, AKilledWorkerLosesOneJob) {
  add("job-1", right());
  add("job-2", right());
  Job hanging = matmulJob(compile("attacks.c", "-DATTACK=LOOP"));
  hanging.limits.wallSeconds = 60;
  add("job-3", hanging);
  for (int signal : {SIGKILL, SIGTERM}) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      freopen("/dev/null", "w", stderr);
      execl(FASTK_WORKER, "fastk-worker", "--spool", folder.c_str(), nullptr);
      _exit(127);
    }
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      // Not before it is at the hanging job, at least once.
      if (signal == SIGTERM ? i > 20
                            : isAnswered("job-1") && isAnswered("job-2"))
        break;
      if (signal == SIGKILL && i == 300)
        break; // The hanging one came first.
    }
    kill(pid, signal);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_FALSE(isAnswered("job-3"));
  }
  for (const char *name : {"job-1", "job-2"})
    if (isAnswered(name)) {
      EXPECT_EQ(verdictOf(name).status, Status::OK);
    }
  hanging.limits.wallSeconds = 0.2;
  fs::remove_all(folder + "/job-3");
  add("job-3", hanging);
  Output output = run();
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(verdictOf("job-1").status, Status::OK);
  EXPECT_EQ(verdictOf("job-2").status, Status::OK);
  EXPECT_EQ(verdictOf("job-3").status, Status::Timeout);
}

/// What another worker has begun is left to it.
TEST_F(Spool, WorkersShareAFolder) {
  add("job-1", right());
  std::string problem;
  UnrenewedClaims unrenewed;
  std::unique_ptr<Claim> claim =
      Claim::take(folder + "/job-1", unrenewed, problem);
  ASSERT_TRUE(claim) << problem;
  std::string log = folder + "/log";
  pid_t pid = startWorker({}, log);
  // It has seen the claim before that is gone, however slowly it starts.
  EXPECT_TRUE(appearsIn(log, "waiting for 1 job of another worker"));
  std::ofstream(folder + "/job-1/verdict.json") << "of the other";
  claim.reset();
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(textOf("job-1"), "of the other");
}

/// A job whose worker gives it back while another waits for it.
TEST_F(Spool, AJobGivenBackIsAnswered) {
  add("job-1", right());
  std::string problem;
  UnrenewedClaims unrenewed;
  std::unique_ptr<Claim> claim =
      Claim::take(folder + "/job-1", unrenewed, problem);
  ASSERT_TRUE(claim) << problem;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    claim.reset();
  });
  Output output = run();
  other.join();
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(verdictOf("job-1").status, Status::OK);
  EXPECT_FALSE(fs::exists(folder + "/job-1/claim-1"));
}

/// So many deaths at one job are no accident: it is answered for the others.
TEST_F(Spool, AJobThatEndsItsWorkersIsAnError) {
  add("job-1", right());
  for (int number = 1; number <= 3; ++number)
    std::ofstream(folder + "/job-1/claim-" + std::to_string(number))
        << deadProcess().toJSON();
  EXPECT_EQ(run().code, 0);
  Verdict verdict = verdictOf("job-1");
  EXPECT_EQ(verdict.status, Status::Error);
  EXPECT_EQ(verdict.id, "job-1");
  EXPECT_EQ(verdict.reason,
            "3 workers ended at this job before they had answered it");
  EXPECT_FALSE(fs::exists(folder + "/job-1/claim-1"));
}

/// One that stays is there before the folder, and answers jobs as they come.
TEST_F(Spool, AWorkerThatStays) {
  // What takes long is done before: it must not be idle meanwhile.
  Job mine = right(), elsewhere = right();
  elsewhere.machine = "Some CPU";
  fs::remove(folder);
  std::string log = folder + ".log";
  pid_t pid = startWorker({"--follow", "--idle=10", "--share=1/2"}, log);
  EXPECT_TRUE(appearsIn(log, "No such file or directory; it is waited for"));
  fs::create_directory(folder);
  add("job-1", mine);
  ASSERT_TRUE(appears(folder + "/job-1/verdict.json"));
  // Missed by its search, it is written and answered once more.
  fs::remove_all(folder + "/job-1");
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  add("job-1", mine);
  add("job-2", elsewhere);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(verdictOf("job-1").status, Status::OK);
  EXPECT_FALSE(isAnswered("job-2"));
  EXPECT_TRUE(appearsIn(log, "job-2/job.json: is for Some CPU"));
  EXPECT_TRUE(appearsIn(log, "fastk-worker: 2 answered, 0 not, 1 left"));
  fs::remove(log);
}

/// Ctrl-C gives the job at hand back.
TEST_F(Spool, AWorkerThatIsEndedGivesItsJobBack) {
  Job hanging = matmulJob(compile("attacks.c", "-DATTACK=LOOP"));
  hanging.limits.wallSeconds = 60;
  add("job-1", hanging);
  pid_t pid = startWorker({"--follow"});
  std::string claim = folder + "/job-1/claim-1";
  ASSERT_TRUE(appears(claim));
  expectOthersBlockSignals(pid);
  kill(pid, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_FALSE(fs::exists(claim));
}

/// What was answered in one spool is said in another, of the same jobs.
TEST_F(Spool, ARehearsalGivesRecordedAnswers) {
  add("job-1", right());
  add("job-2", right());
  std::string recorded = record("job-1", 0.5);
  auto start = std::chrono::steady_clock::now();
  Output output =
      runWorker("", "--spool=" + folder + " --rehearse=" + recorded);
  EXPECT_GE(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(500));
  EXPECT_EQ(output.code, 1) << output.err;
  EXPECT_EQ(verdictOf("job-1").reason, "as recorded");
  EXPECT_FALSE(isAnswered("job-2"));
  EXPECT_NE(output.err.find("job-2/job.json: is not among the answered jobs"),
            std::string::npos)
      << output.err;
}

/// A worker for each GPU that is named, in processes of their own.
TEST_F(Spool, AFleet) {
  for (const char *name : {"job-1", "job-2", "job-3", "job-4"}) {
    add(name, right());
    // The second is there before the first has answered one.
    record(name, 2);
  }
  Output output =
      runWorker("", "--spool " + folder + " --gpus=0,1 --rehearse=" + folder +
                        "/recorded");
  EXPECT_EQ(output.code, 0) << output.err;
  for (const char *said : {"gpu 0: fastk-worker: 4 jobs to answer",
                           "gpu 1: fastk-worker: 4 jobs to answer",
                           "gpu 0: [1/4, ", "gpu 1: [1/4, "})
    EXPECT_NE(output.err.find(said), std::string::npos) << output.err;
  for (const char *name : {"job-1", "job-2", "job-3", "job-4"})
    EXPECT_TRUE(isAnswered(name));
}

/// One that is killed is started again, and the job that it had is free at
/// once; a signal ends all, and their jobs are given back.
TEST_F(Spool, AFleetOutlivesItsWorkers) {
  add("job-1", right());
  record("job-1", /*seconds=*/60);
  pid_t fleet = startWorker(
      {"--follow", "--gpus=0", "--rehearse=" + folder + "/recorded"});
  // Made first, and then written.
  std::optional<ProcessIdentity> holder;
  for (int look = 0; look < 6000 && !holder; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::stringstream text;
    text << std::ifstream(folder + "/job-1/claim-1").rdbuf();
    holder = ProcessIdentity::parse(text.str());
  }
  ASSERT_TRUE(holder);
  ASSERT_NE(holder->pid, fleet);
  kill(pid_t(holder->pid), SIGKILL);
  EXPECT_TRUE(appears(folder + "/job-1/claim-2"));
  kill(fleet, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(fleet, &status, 0), fleet);
  EXPECT_EQ(WEXITSTATUS(status), 143);
  EXPECT_FALSE(fs::exists(folder + "/job-1/claim-2"));
}

TEST_F(Spool, WrongOptionsAreNamed) {
  const std::pair<const char *, const char *> wrong[] = {
      {"--idle=5", "--idle ends a worker that stays: add --follow"},
      {"--follow --idle=0", "--idle wants seconds above 0"},
      {"--share=2/2", "--share wants which share of how many"},
      {"--gpus=some", "--gpus wants all, or numbers of GPUs"},
      {"--gpus=all --share=0/2", "--share is for workers that are started"},
      {"--rehearse=/none", "and '/none' is none"},
      {"--spool b", "--spool wants one folder"},
      {"--quick", "unknown option '--quick' beside --spool"}};
  for (const auto &[options, text] : wrong) {
    Output output = runWorker("", "--spool " + folder + " " + options);
    EXPECT_EQ(output.code, 1) << options;
    EXPECT_NE(output.err.find(text), std::string::npos)
        << options << ": " << output.err;
  }
}

TEST_F(Spool, WrongFoldersAreNamed) {
  Output output = runWorker("", "--spool " + folder + "/none");
  EXPECT_EQ(output.code, 1);
  EXPECT_NE(output.err.find("/none: No such file"), std::string::npos)
      << output.err;
}

TEST_F(Spool, ServesTheJobsThatAreNamed) {
  add("job-1", right());
  add("job-2", reduceJob(compile("reduce.c", "-DT=double")));
  add("job-3", right());
  Output output = runWorker("job-2 job-3\njob-1\njob-1\n",
                            "--spool " + folder + " --serve");
  EXPECT_EQ(output.code, 0) << output.err;
  // One line for each, in their order; what is answered stays so.
  EXPECT_EQ(output.out, "answered\nanswered\nanswered\n");
  EXPECT_EQ(verdictOf("job-1").status, Status::OK);
  EXPECT_EQ(verdictOf("job-2").status, Status::Wrong);
  EXPECT_FALSE(isAnswered("job-3"));
  // Whoever names them deals them out.
  EXPECT_FALSE(fs::exists(folder + "/job-1/claim-1"));
}

TEST_F(Spool, ServesWithReasonsWhatItLeaves) {
  // A search that is newer than this worker wrote it.
  std::string newer = toJSON(right());
  size_t at = newer.find("\"format\":1");
  ASSERT_NE(at, std::string::npos) << newer;
  write("job-newer", newer.replace(at, 10, "\"format\":2"));
  Job other = right();
  other.machine = "Some CPU";
  add("job-other", other);
  Output output = runWorker("job-newer\njob-other\njob-0\n../x\njob-1 ../y\n",
                            "--spool " + folder + " --serve");
  EXPECT_EQ(output.code, 0) << output.err;
  std::stringstream lines(output.out);
  std::string line;
  for (const char *begin :
       {"left: $.format: is 2; ", "left: is for Some CPU, this is ",
        "left: cannot be read", "left: '../x' is not the name of a job",
        "left: '../y' is not the name of a job"}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line.rfind(begin, 0), 0u) << line;
  }
  EXPECT_FALSE(isAnswered("job-newer"));
  EXPECT_FALSE(isAnswered("job-other"));
}

TEST_F(Spool, ServesRehearsals) {
  std::string recorded = record("job-1", 0.01);
  write("job-1", "{}");
  Output output =
      runWorker("job-1\njob-2\n",
                "--spool " + folder + " --serve --rehearse=" + recorded);
  EXPECT_EQ(verdictOf("job-1").reason, "as recorded");
  EXPECT_EQ(output.out.rfind("answered\nleft: is not among the answered", 0),
            0u)
      << output.out;
  Output wrong = runWorker("", "--spool " + folder + " --serve --follow");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("--serve answers what stdin names"),
            std::string::npos)
      << wrong.err;
}

TEST_F(Spool, TellsProgramsToo) {
  add("job-1", right());
  write("job-2", "{");
  std::string metrics = folder + "/worker.prom";
  Output output = runWorker("", "--spool " + folder +
                                    " --log-format=json --metrics=" + metrics);
  EXPECT_EQ(output.code, 1);
  // Each line is an object, whatever it tells.
  std::stringstream lines(output.err);
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) {
    objects.push_back(nlohmann::json::parse(line, nullptr, false));
    ASSERT_TRUE(objects.back().is_object()) << line;
    EXPECT_EQ(objects.back().value("time", "").size(), 24u) << line;
  }
  auto find = [&](const char *event) {
    for (const nlohmann::json &object : objects)
      if (object.value("event", "") == event)
        return object;
    return nlohmann::json::object();
  };
  EXPECT_EQ(find("answered").value("job", ""), "job-1");
  EXPECT_EQ(find("answered").value("status", ""), "ok");
  EXPECT_GT(find("answered").value("seconds", 0.0), 0);
  EXPECT_EQ(find("problem").value("level", ""), "error");
  EXPECT_EQ(find("ends").value("text", ""), "fastk-worker: 1 answered, 1 not");
  std::stringstream text;
  text << std::ifstream(metrics).rdbuf();
  for (const char *said :
       {"\nfastk_worker_evaluations_total{status=\"ok\"} 1\n",
        "\nfastk_worker_evaluations_total{status=\"error\"} 0\n",
        "\nfastk_worker_job_started_timestamp_seconds 0\n",
        "\nfastk_worker_open_jobs 0\n",
        "fastk_worker_phase_seconds_total{phase=\"oracle\"}"})
    EXPECT_NE(text.str().find(said), std::string::npos) << text.str();
}

/// Whoever reads the logs sees why a worker is gone, and who has its job.
TEST_F(Spool, TellsWhatEndsItAndWhomItFollows) {
  using Objects = std::map<std::string, nlohmann::json>;
  auto endBy = [&](int signal, const std::string &claim, int &status) {
    std::string log = folder + "/log";
    pid_t pid = startWorker(
        {"--follow", "--log-format=json", "--rehearse=" + folder + "/recorded"},
        log);
    EXPECT_TRUE(appears(folder + "/job-1/" + claim));
    kill(pid, signal);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    Objects objects;
    std::ifstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      auto object = nlohmann::json::parse(line, nullptr, false);
      objects[object.value("event", "")] = object;
    }
    return objects;
  };
  record("job-1", /*seconds=*/60);
  add("job-1", right());
  int status = 0;
  Objects said = endBy(SIGTERM, "claim-1", status);
  EXPECT_EQ(WEXITSTATUS(status), 143);
  EXPECT_EQ(said["ends"].value("text", ""),
            "fastk-worker: ended by SIGTERM; job-1 is free for others");
  EXPECT_EQ(said["ends"].value("job", ""), "job-1");
  EXPECT_FALSE(said.count("takes over"));
  said = endBy(SIGKILL, "claim-1", status);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_FALSE(said.count("ends"));
  said = endBy(SIGTERM, "claim-2", status);
  EXPECT_EQ(
      said["takes over"].value("text", ""),
      "fastk-worker: job-1: 1 worker ended at it without an answer; it is "
      "begun again");
  EXPECT_EQ(said["takes over"].value("deaths", 0.0), 1);
}

/// Whoever ends it does not wait for whoever reads its log.
TEST_F(Spool, EndsThoughNobodyReadsItsLog) {
  std::string log = folder + "/log";
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  int pipe = ::open(log.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(pipe, 0);
  record("job-1", /*seconds=*/60);
  add("job-1", right());
  pid_t pid =
      startWorker({"--follow", "--rehearse=" + folder + "/recorded"}, log);
  EXPECT_TRUE(appears(folder + "/job-1/claim-1"));
  // As full as it gets.
  while (::write(pipe, "x", 1) == 1)
    ;
  auto start = std::chrono::steady_clock::now();
  kill(pid, SIGTERM);
  int status = 0;
  for (int look = 0; look < 3000 && waitpid(pid, &status, WNOHANG) == 0; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(WEXITSTATUS(status), 143);
  // Its job would take a minute, and a reader comes never.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(40));
  if (status == 0)
    kill(pid, SIGKILL);
  ::close(pipe);
}

/// So that whoever watches is told of a worker that is stuck in its first job.
TEST_F(Spool, TellsOfTheJobAtHand) {
  std::string metrics = folder + "/worker.prom";
  add("job-1", right());
  record("job-1", /*seconds=*/60);
  fs::rename(folder + "/job-1", folder + "/later");
  pid_t pid = startWorker({"--follow", "--metrics=" + metrics,
                           "--rehearse=" + folder + "/recorded"});
  // Before any job, too.
  EXPECT_TRUE(appearsIn(
      metrics, "\nfastk_worker_evaluations_total{status=\"error\"} 0\n"));
  EXPECT_TRUE(
      appearsIn(metrics, "\nfastk_worker_job_started_timestamp_seconds 0\n"));
  fs::rename(folder + "/later", folder + "/job-1");
  EXPECT_TRUE(
      appearsIn(metrics, "\nfastk_worker_job_started_timestamp_seconds 1"));
  kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
}

TEST_F(Spool, EachOfAFleetTellsOfItself) {
  add("job-1", right());
  record("job-1", 0.01);
  Output output =
      runWorker("", "--spool " + folder +
                        " --gpus=0,1 --log-format=json --metrics=" + folder +
                        "/worker.prom --rehearse=" + folder + "/recorded");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.err.front(), '{') << output.err;
  EXPECT_NE(output.err.find("\"gpu\":\"1\""), std::string::npos) << output.err;
  for (const char *name : {"/worker-0.prom", "/worker-1.prom"}) {
    std::stringstream text;
    text << std::ifstream(folder + name).rdbuf();
    EXPECT_NE(text.str().find("fastk_worker_open_jobs{gpu=\""),
              std::string::npos)
        << text.str();
  }
}
